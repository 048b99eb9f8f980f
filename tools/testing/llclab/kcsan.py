#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tell KCSAN's reports about our code from those about the base kernel.

A report is ours if a function of our files is on one of its stacks, or if its
top function is one of the base that a hook patch touches. In the second case the
race may as well be one of the base: it is printed as "hook".

Exit status: 0 if there are no reports of ours and no reports of another kind, 1 if there
are, 2 for bad usage."""

import argparse
import os
import re
import sys

sys.dont_write_bytecode = True
import reports

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.join(HERE, '../../..')

LINE = re.compile(r'={20,}')
FUNCTION = re.compile(r'([A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+')
# Hunk headers name the function; so do definitions in the hunk.
HUNK = re.compile(r'^@@ .* @@ .*?(\w+)\(', re.M)
# At the begin of a line, its type before it or on the line above; no macros, no declarations.
DEFINITION = re.compile(r'^(?:[A-Za-z_][\w \t*]*[ *])?([a-z_]\w*)\((?![^\n]*;$)', re.M)


def our_functions(top=TOP):
    """Names of all functions defined in our files."""
    names = set()
    for folder in ('kernel/sched', 'include/linux/sched'):
        for name in os.listdir(os.path.join(top, folder)):
            if name.endswith(('.c', '.h')):
                with open(os.path.join(top, folder, name), encoding='utf-8') as f:
                    names.update(DEFINITION.findall(f.read()))
    return names


def hook_functions(top=TOP):
    """Functions of the base that the hook patches touch."""
    names = set()
    folder = os.path.join(top, 'patches/6.12')
    for name in os.listdir(folder):
        if name.endswith('.patch'):
            with open(os.path.join(folder, name), encoding='utf-8') as f:
                text = f.read()
            names.update(HUNK.findall(text))
            names.update(DEFINITION.findall('\n'.join(line[1:] for line in text.splitlines()
                                                      if line[:1] in ' +')))
    return names


def split(console):
    """(KCSAN reports as lists of lines, the console without them)."""
    found, rest, report = [], [], None
    for line in console.splitlines():
        head = reports.TIME.match(line)
        text = line[head.end():] if head else line
        if report is None:
            if text.startswith('BUG: KCSAN: '):
                report = [text]
            else:
                rest.append(line)
        elif LINE.match(text):
            found.append(report)
            report = None
        else:
            report.append(text)
    if report:
        found.append(report)
    return found, '\n'.join(rest)


def base_name(function):
    """Without what the compiler appends: .constprop.0, .isra.0, .part.0"""
    return function.split('.')[0]


def tops(report):
    """The functions that raced, as the headline names them."""
    words = report[0].split(' in ', 1)
    return [base_name(f) for f in re.split(r' / ', words[1].strip())] if len(words) == 2 else []


def judge(report, ours, hooks):
    """'ours', 'hook' or 'base'"""
    functions = {base_name(f) for line in report for f in FUNCTION.findall(line)} | set(tops(report))
    if functions & ours or any('sched_cache' in f for f in functions):
        return 'ours'
    if set(tops(report)) & hooks:
        return 'hook'
    return 'base'


def self_test():
    ours, hooks = {'sched_cache_go_home'}, {'update_curr'}
    console = '\n'.join('[    1.000000] ' + line for line in (
        'x', '=' * 66, 'BUG: KCSAN: data-race in sched_cache_go_home.isra.0 / update_curr', '',
        'write to 0x1 of 8 bytes by task 1 on cpu 1:', ' sched_cache_go_home.isra.0+0x1/0x2', '=' * 66, 'y',
        '=' * 66, 'BUG: KCSAN: data-race in a / b', ' update_curr+0x1/0x2', '=' * 66,
        '=' * 66, 'BUG: KCSAN: assert: race in update_curr+0x1/0x2', '=' * 66,
        '=' * 66, 'BUG: KCSAN: data-race in a+0x1/0x2', ' sched_cache_go_home+0x1/0x2', '=' * 66,
        'BUG: unable to handle page fault'))
    found, rest = split(console)
    assert [judge(r, ours, hooks) for r in found] == ['ours', 'base', 'base', 'ours'], found
    assert judge(['BUG: KCSAN: data-race in update_curr / a'], ours, hooks) == 'hook'
    assert 'page fault' in reports.find(rest) and 'KCSAN' not in rest
    assert 'task_cache_work' in our_functions() and '__sched_cache_account' in our_functions()
    assert 'update_curr' in hook_functions() and 'exec_mmap' in hook_functions()
    print('kcsan.py: self-test passed')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--self-test', action='store_true', help='check this program')
    parser.add_argument('--all', action='store_true', help='list the reports about the base, too')
    parser.add_argument('console', nargs='?', help="a guest's console log (llclab run --console)")
    args = parser.parse_args()
    if args.self_test:
        self_test()
        return 0
    if not args.console:
        parser.error('which console log?')
    try:
        with open(args.console, encoding='utf-8', errors='replace') as f:
            found, rest = split(f.read())
    except OSError as e:
        parser.error(f'{e.filename}: {e.strerror}')

    ours, hooks = our_functions(), hook_functions()
    count = {'ours': {}, 'hook': {}, 'base': {}}
    for report in found:
        kind = judge(report, ours, hooks)
        title = ' / '.join(sorted(tops(report)))
        count[kind].setdefault(title, []).append(report)
    for kind, titles in count.items():
        print(f'{kind}: {sum(map(len, titles.values()))} reports, {len(titles)} different')
        for title, same in sorted(titles.items(), key=lambda item: -len(item[1])):
            if kind != 'base' or args.all:
                print(f'  {len(same):5} {title}')
    for kind in ('ours', 'hook'):
        for same in count[kind].values():
            print('\n' + '\n'.join([kind + ': ' + same[0][0], *same[0][1:]]))
    other = reports.find(rest)
    if other:
        print(f'\nother report:\n{other}')
    return 1 if count['ours'] or other else 0


if __name__ == '__main__':
    sys.exit(main())
