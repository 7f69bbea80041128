"""What a run's output did to a terminal is known and undone; modes are put back, whatever happened."""

import os
import pty
import termios

import pytest

from eukhed.cli.terminal import Modes, Terminal, in_foreground, name_of, window


def undone(*pieces: bytes) -> bytes:
    modes = Modes()
    for piece in pieces:
        modes.watch(piece)
    return modes.undo()


def test_nothing_set_nothing_undone() -> None:
    assert undone(b"plain \x1b[31mred\x1b[0m text") == b""


@pytest.mark.parametrize("number", [b"1000", b"1002", b"1003", b"1006", b"1004", b"2004", b"1049", b"47"])
def test_a_mode_that_is_left_on_is_turned_off(number: bytes) -> None:
    assert b"\x1b[?%bl" % number in undone(b"\x1b[?%bh" % number)
    assert undone(b"\x1b[?%bh" % number, b"text", b"\x1b[?%bl" % number) == b""


def test_many_at_once_and_a_hidden_cursor() -> None:
    told = undone(b"\x1b[?1000;1006h\x1b[?25l")
    assert all(part in told for part in (b"\x1b[?1000l", b"\x1b[?1006l", b"\x1b[?25h"))
    assert undone(b"\x1b[?25l\x1b[?25h") == b""


def test_a_sequence_that_is_cut_anywhere_is_seen() -> None:
    sequence = b"\x1b[?1049h"
    for place in range(1, len(sequence)):
        assert b"\x1b[?1049l" in undone(b"x" * 100 + sequence[:place], sequence[place:] + b"y" * 100)


@pytest.mark.parametrize("sequence", [b"\x1b[>1u", b"\x1b[=5;1u", b"\x1b[>4;2m"])
def test_the_keyboard_is_put_back(sequence: bytes) -> None:
    assert b"\x1b[<u" in undone(sequence)


def test_full_screen() -> None:
    modes = Modes()
    modes.watch(b"\x1b[?1049h")
    assert modes.full_screen
    modes.watch(b"\x1b[?1049l")
    assert not modes.full_screen


def test_modes_are_put_back_once_and_survive_a_terminal_that_is_gone() -> None:
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    terminal = Terminal(slave)
    terminal.raw()
    assert not termios.tcgetattr(slave)[3] & termios.ECHO
    terminal.restore()
    terminal.restore()
    assert termios.tcgetattr(slave) == before
    terminal.one_key()
    attributes = termios.tcgetattr(slave)[3]
    assert attributes & termios.ISIG
    assert not attributes & termios.ICANON
    os.close(master)
    os.close(slave)
    terminal.close()


def test_what_is_no_terminal() -> None:
    read, write = os.pipe()
    try:
        assert window(read, -1) is None
        assert name_of(read, -1) is None
        assert not in_foreground(read)
    finally:
        os.close(read)
        os.close(write)
