// SPDX-License-Identifier: GPL-2.0
/*
 * See crc32.h. The folding constants are x^n mod P for the distances 512+64,
 * 512, 128+64, 128 and 64 bits, bit-reflected; mu and P end the Barrett step.
 */
#include "crc32.h"

#include "crc_tables.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sim {
namespace {

constexpr CrcTables tables(0xedb88320);

#if defined(__x86_64__)

#define TARGET_CLMUL __attribute__((target("pclmul,sse4.1")))

TARGET_CLMUL inline __m128i fold(__m128i x, __m128i k, __m128i data)
{
	__m128i lo = _mm_clmulepi64_si128(x, k, 0x00);
	__m128i hi = _mm_clmulepi64_si128(x, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(lo, hi), data);
}

TARGET_CLMUL inline __m128i load(const uint8_t *p)
{
	return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
}

/* n: a multiple of 16, at least 64. */
TARGET_CLMUL uint32_t clmul(uint32_t crc, const uint8_t *p, size_t n)
{
	const __m128i by512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
	const __m128i by128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
	const __m128i by64 = _mm_set_epi64x(0, 0x163cd6124);
	const __m128i mu_p = _mm_set_epi64x(0x1f7011641, 0x1db710641);
	const __m128i low32 = _mm_setr_epi32(~0, 0, ~0, 0);
	__m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128((int)crc));
	__m128i b = load(p + 16), c = load(p + 32), d = load(p + 48), t;

	for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
		a = fold(a, by512, load(p));
		b = fold(b, by512, load(p + 16));
		c = fold(c, by512, load(p + 32));
		d = fold(d, by512, load(p + 48));
	}
	a = fold(a, by128, b);
	a = fold(a, by128, c);
	a = fold(a, by128, d);
	for (; n >= 16; p += 16, n -= 16)
		a = fold(a, by128, load(p));

	t = _mm_clmulepi64_si128(a, by128, 0x10);
	a = _mm_xor_si128(_mm_srli_si128(a, 8), t);
	t = _mm_srli_si128(a, 4);
	a = _mm_clmulepi64_si128(_mm_and_si128(a, low32), by64, 0x00);
	a = _mm_xor_si128(a, t);
	t = _mm_clmulepi64_si128(_mm_and_si128(a, low32), mu_p, 0x10);
	t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), mu_p, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(a, t), 1);
}

const bool have_clmul = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");

#endif

} /* namespace */

uint32_t crc32_fast(uint32_t crc, const uint8_t *p, size_t n)
{
#if defined(__x86_64__)
	if (n >= 64 && have_clmul) {
		size_t folded = n & ~(size_t)15;

		crc = clmul(crc, p, folded);
		p += folded;
		n -= folded;
	}
#endif
	return tables.add(crc, p, n);
}

} /* namespace sim */
