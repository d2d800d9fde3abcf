/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Explicit-state search of a model: every state that can be reached from a first one, each looked
 * at once. The model says what can come next; a state that nothing comes after is an end. (Whoever
 * goes on for ever has none: that is not found.)
 */
#ifndef TERN_SELFTESTS_SEARCH_H
#define TERN_SELFTESTS_SEARCH_H

#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

template <typename State, int kContexts> class Search {
	static_assert(std::has_unique_object_representations_v<State>);

public:
	virtual ~Search() = default;

	/* What is wrong with the first wrong end or state that is found, or "". */
	std::string run(const State &first)
	{
		visit(first);
		while (!open_.empty() && wrong_.empty()) {
			const State state = open_.back();

			open_.pop_back();
			if (!expand(state) && wrong_.empty())
				wrong_ = end(state);
		}
		return wrong_;
	}

	size_t states() const { return seen_.size(); }

protected:
	/* visit() all that this context can do next. False: nothing. */
	virtual bool step(const State &s, int who) = 0;
	/* What is wrong with an end, or "". */
	virtual std::string end(const State &s) const = 0;

	void visit(const State &s)
	{
		std::string key(sizeof(s), '\0');

		memcpy(key.data(), &s, sizeof(s));
		if (seen_.insert(std::move(key)).second)
			open_.push_back(s);
	}

	void wrong(const char *what) { wrong_ = what; }

private:
	bool expand(const State &s)
	{
		bool any = false;

		for (int who = 0; who < kContexts; who++)
			any |= step(s, who);
		return any;
	}

	std::unordered_set<std::string> seen_;
	std::vector<State> open_;
	std::string wrong_;
};

#endif
