"""Writes price-cases.txt: costs of usage as Python's decimal computes them.

    python3 test/support/price-cases.py > test/support/price-cases.txt

Each line: tokens of the prompt, of these those from and those to the cache, and tokens of the completion; the four
prices in dollars per million; the cost in dollars, exactly and rounded to 0.0001.
"""

from decimal import ROUND_HALF_UP, Decimal, getcontext
from random import Random

getcontext().prec = 60
random = Random(20261127)
MILLION = Decimal(1_000_000)


def price() -> str:
    decimals = random.randrange(7)
    whole = random.choice([0, random.randrange(10), random.randrange(1000), random.randrange(1_000_000)])
    return f"{whole}.{random.randrange(10**decimals):0{decimals}d}" if decimals else str(whole)


def tokens() -> tuple[int, int, int, int]:
    prompt = random.randrange(10 ** random.randrange(1, 14))
    cached = random.choice([0, random.randrange(prompt + 1)])
    written = random.choice([0, random.randrange(prompt - cached + 1)])
    return prompt, cached, written, random.randrange(10 ** random.randrange(1, 13))


def line(usage: tuple[int, int, int, int], prices: tuple[str, str, str, str]) -> str:
    prompt, cached, written, completion = usage
    of_input, of_cached, of_written, of_output = (Decimal(each) / MILLION for each in prices)
    cost = (prompt - cached - written) * of_input + cached * of_cached + written * of_written + completion * of_output
    rounded = cost.quantize(Decimal("0.0001"), ROUND_HALF_UP)
    return " ".join([*map(str, usage), *prices, f"{cost:.12f}", f"{rounded:.4f}"])


EXACT = [
    ((0, 0, 0, 0), ("0.25", "0.025", "0.3125", "2")),
    ((1, 0, 0, 0), ("0.000001", "0", "0", "0")),
    ((1000, 800, 100, 50), ("0.25", "0.025", "0.3125", "2")),
    ((50, 0, 0, 0), ("1", "0", "0", "0")),
    ((49, 0, 0, 0), ("1", "0", "0", "0")),
    ((9007199254740991, 0, 9007199254740991, 9007199254740991), ("999999.999999",) * 4),
]
for usage, prices in EXACT:
    print(line(usage, prices))
for _ in range(54):
    print(line(tokens(), (price(), price(), price(), price())))
