"""Limits on the requests of `scripts/schemathesis`, such as waits of at most a moment."""

import schemathesis

LONGEST_MS = 20
# A longer time is refused, and has to be sent unchanged to see that.
ALLOWED_MS = 3_600_000


def shortened(value):
    if isinstance(value, list):
        return [shortened(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    short = {name: shortened(inner) for name, inner in value.items()}
    wait_ms = short.get("wait_ms")
    if isinstance(wait_ms, int) and LONGEST_MS < wait_ms <= ALLOWED_MS:
        short["wait_ms"] = LONGEST_MS
    return short


@schemathesis.hook
def before_call(context, case, **kwargs):
    short = shortened(case.body)
    # A body that is set anew is judged anew, so one that stays as it was is left alone.
    if short != case.body:
        case.body = short
