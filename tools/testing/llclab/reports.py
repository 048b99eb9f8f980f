# SPDX-License-Identifier: GPL-2.0
"""Finds the kernel's own bug reports in a console log."""

import re

# A kernel message begins with its time, and with CONFIG_PRINTK_CALLER the caller.
TIME = re.compile(r'^\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ')

# At the beginning of a message only: a test that prints such words in its
# own text (after "# " for KUnit, after its name for others) reports nothing.
REPORT = re.compile('|'.join((
    r'BUG[: ]',                                 # oops, KASAN, KCSAN, KFENCE, SLUB, sleeping while atomic
    r'kernel BUG at ',
    r'watchdog: ',                              # soft and hard lockup
    r'WARNING: ',                               # WARN(), lockdep, suspicious RCU usage
    r'Oops\b',
    r'(?:general protection fault|invalid opcode|divide error|stack segment|double fault|traps: PANIC)\b',
    r'Kernel panic',
    r'UBSAN: ',
    r'INFO: task .* blocked for more than',
    r'(?:rcu: )?INFO: .*detected .*stall',
    r'INFO: trying to register non-static key',
    r'kmemleak: \d+ new suspected memory leaks',
    r'list_(?:add|del) corruption',
    r'irq \d+: nobody cared',
)))

# So early that there is no clock yet
EARLY = re.compile(r'PANIC: early exception')

MAX_LINES = 120


def find(console):
    """The part of a console log from the first report on (no more than MAX_LINES lines), or None."""
    lines = console.splitlines()
    for i, line in enumerate(lines):
        head = TIME.match(line)
        if head and REPORT.match(line[head.end():]) or EARLY.match(line):
            # lockdep and KASAN draw a line above, WARN says "cut here"
            first = i - 1 if i and re.search(r'={10}|cut here', lines[i - 1]) else i
            part = lines[first:first + MAX_LINES]
            left = len(lines) - first - len(part)
            if left > 0:
                part.append(f'... {left} more lines in the console log')
            return '\n'.join(part)
    return None
