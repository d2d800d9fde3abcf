# SPDX-License-Identifier: GPL-2.0
"""index.html: machine, plots and tables of one run; static, with the plots beside it."""

import html

from . import table

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 76rem; margin: 2rem auto;
       padding: 0 1rem; }
h1, h2 { font-weight: 600; } h2 { margin-top: 2.2rem; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th { text-align: left; border-bottom: 2px solid #444; padding: .25rem .6rem; }
td { border-bottom: 1px solid #ddd; padding: .2rem .6rem; white-space: nowrap; }
td.n { text-align: right; } .met { color: #0b6e4f; } .not { color: #b3341a; font-weight: 600; }
figure { display: inline-block; margin: .5rem 1rem 1.2rem 0; vertical-align: top; }
figure img { max-width: 36rem; width: 100%; } figcaption { color: #666; font-size: 13px; }
figure.wide img { max-width: 56rem; } .scroll { overflow-x: auto; }
dl { display: grid; grid-template-columns: max-content auto; gap: .15rem 1.2rem; }
dt { color: #666; } dd { margin: 0; }
"""


def _cells(texts, tag="td", numbers=(), mark=""):
    return "<tr>%s</tr>" % "".join("<%s%s>%s</%s>" % (
        tag, ' class="n"' if i in numbers else
        ' class="%s"' % mark if mark and i == len(texts) - 1 else "", html.escape(text), tag)
        for i, text in enumerate(texts))


def _goals(samples):
    yield _cells(table.HEADS, "th")
    for verdict, row in table.goal_rows(samples):
        mark = {None: "", True: "met", False: "not"}[verdict.met]
        yield _cells(row, numbers=(2, 4, 5, 7, 8, 10, 11), mark=mark)


def _figures(samples):
    yield _cells(("link", "MTU", "vCPUs", "subject", "case", "what", "median", "least..most",
                  "unit", "host CPU, ns", "a"), "th")
    for point, (title, median, spread, unit, cpu, per) in table.figure_rows(samples):
        yield _cells((point.link, str(point.mtu), str(point.vcpus), point.subject, point.case,
                      title, median, spread, unit, cpu, per), numbers=(1, 2, 6, 7, 9))


def _fact(value):
    if isinstance(value, dict):
        value = ["%s: %s" % item for item in value.items()]
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def write(samples, facts, plots, path):
    """facts: from machine.py. plots: (file, what it shows)."""
    parts = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
             "<title>tern: performance</title><style>%s</style></head><body>" % _STYLE,
             "<h1>tern beside rxe, siw, TCP and UDP</h1>"]
    if str(facts.get("accel", "")).lower() == "tcg":
        parts.append("<p>The guests' processors were emulated (TCG): kernel code is many times "
                     "slower than native, and so is everything here. Compare figures with each "
                     "other only.</p>")
    parts.append("<dl>%s</dl>" % "".join(
        "<dt>%s</dt><dd>%s</dd>" % (html.escape(name), html.escape(_fact(value)) or "none")
        for name, value in facts.items()))
    parts.append("<h2>Plots</h2>")
    parts += ['<figure%s><a href="%s"><img src="%s" alt="%s"></a><figcaption>%s</figcaption>'
              "</figure>" % (' class="wide"' if name.startswith("goals") else "", name, name,
                             html.escape(words), html.escape(words)) for name, words in plots]
    parts += ["<h2>Wanted ratios</h2>", "<p>Medians of the rounds, least and most in the columns "
              "beside them.</p>", '<div class="scroll"><table>', *_goals(samples),
              "</table></div>", "<h2>All figures</h2>", '<div class="scroll"><table>',
              *_figures(samples), "</table></div>", "</body></html>"]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(parts) + "\n")
