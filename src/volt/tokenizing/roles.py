"""Roles: what special tokens are for. Every format writes them in its toolkit's own way."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from volt.base.errors import SettingsError
from volt.tokenizing.chat import read_template, template_names, template_roles

if TYPE_CHECKING:
    from volt.settings.roles import RoleSettings, UseSettings
    from volt.tokenizing.vocabulary import Vocabulary

RoleName = Literal["bos", "eos", "pad", "unk", "mask", "sep", "cls"]
NAMED: tuple[Literal["bos", "eos", "pad", "mask"], ...] = ("bos", "eos", "pad", "mask")
"""The roles that a vocabulary stores; `unk` is its `unknown_token`."""
USUAL: dict[RoleName, tuple[str, ...]] = {
    "bos": ("<s>",),
    "eos": ("</s>",),
    "pad": ("<pad>", "[PAD]"),
    "unk": ("<unk>", "[UNK]"),
    "mask": ("<mask>", "[MASK]"),
    "sep": ("<sep>", "[SEP]"),
    "cls": ("<cls>", "[CLS]"),
}
"""The special tokens that have a role by their name, if no other was given it."""
RESERVED = re.compile(r"<\|reserved_\d+\|>")


@dataclass(frozen=True)
class Roles:
    """What special tokens are for, as far as it was said. A role without a name is that of the
    special token with the usual name, if there is one."""

    bos: str | None = None
    """Begins a text."""
    eos: str | None = None
    """Ends a text."""
    pad: str | None = None
    """Fills a batch."""
    mask: str | None = None
    """Hides another token."""
    add_bos: bool = False
    """Does a text get `bos` before it, where special tokens are asked for?"""
    add_eos: bool = False
    """And `eos` after it?"""
    chat: str | None = None
    """The chat template, in Jinja."""
    max_length: int | None = None
    """The longest input of the model, in tokens."""
    padding_side: Literal["right", "left"] = "right"


def role_name(role: RoleName, roles: Roles, unknown: str, special: Collection[str]) -> str | None:
    """The special token of a role, or None."""
    if role == "unk" and unknown in special:
        return unknown
    own = getattr(roles, role) if role in NAMED else None
    return own or next((name for name in USUAL[role] if name in special), None)


def as_usual(roles: Roles, unknown: str, special: Collection[str]) -> Roles:
    """The same roles, without the names that go without saying."""
    unnamed = replace(roles, bos=None, eos=None, pad=None, mask=None)
    said: dict[str, Any] = {
        role: None
        for role in NAMED
        if getattr(roles, role) == role_name(role, unnamed, unknown, special)
    }
    return replace(roles, **said)


def reserved_names(number: int) -> list[str]:
    return [f"<|reserved_{i}|>" for i in range(number)]


def roles_of(settings: UseSettings, before: Roles = Roles()) -> Roles:
    """The roles that settings name; the others stay as they were."""
    given: dict[str, Any] = {one.name: getattr(settings, one.name) for one in fields(Roles)}
    if settings.chat is not None:
        given["chat"] = read_template(settings.chat)
    said = {name: value for name, value in given.items() if value not in (None, False)}
    return replace(before, **said)


def learned_roles(settings: RoleSettings) -> Roles:
    """The roles of a vocabulary that is learned."""
    return as_usual(roles_of(settings), settings.unknown_token, settings.special)


def check_learned_roles(settings: RoleSettings) -> None:
    """What `check_roles` says of a vocabulary, before there is one."""
    check_role_names(learned_roles(settings), settings.unknown_token, settings.special)


def check_roles(vocabulary: Vocabulary) -> None:
    """An error if a role has no token, or its token is not special."""
    check_role_names(vocabulary.roles, vocabulary.unknown_token, vocabulary.of_kind("special"))


def check_role_names(roles: Roles, unknown: str, names: Collection[str]) -> None:
    """The same, from the names of all special tokens."""
    special = set(names)
    for role in NAMED:
        name = getattr(roles, role)
        if name is not None and name not in special:
            raise SettingsError(f"`{role}` must be a special token, and {name!r} is not one")
    ends: list[tuple[RoleName, bool]] = [("bos", roles.add_bos), ("eos", roles.add_eos)]
    for end, added in ends:
        if added and role_name(end, roles, unknown, special) is None:
            raise SettingsError(f"`add_{end}` needs a special token: name it with `{end}`")
    if roles.chat is None:
        return
    for name in template_names(roles.chat):
        if name not in special:
            raise SettingsError(f"the chat template needs the special token {name!r}")
    for asked in template_roles(roles.chat):
        if role_name(asked, roles, unknown, special) is None:
            raise SettingsError(
                f"the chat template needs {asked}_token: name a special token with `{asked}`"
            )


def with_roles(vocabulary: Vocabulary, settings: UseSettings) -> Vocabulary:
    """The same tokens and ids with other roles. Special tokens that are not there yet take reserved
    places, the first of them first."""
    roles = roles_of(settings, vocabulary.roles)
    roles = as_usual(roles, vocabulary.unknown_token, vocabulary.special_ids)
    if roles == vocabulary.roles:
        return vocabulary
    names = [getattr(roles, role) for role in NAMED if getattr(roles, role)]
    names += template_names(roles.chat or "")
    found = replace(named_places(vocabulary, names), roles=roles)
    check_roles(found)
    return found


def taken_places(before: Vocabulary, after: Vocabulary) -> list[str]:
    """What to know about names that took reserved places after a vocabulary was learned."""
    pairs = enumerate(zip(before.texts, after.texts, strict=True))
    taken = [f"{new} took {old} (id {place})" for place, (old, new) in pairs if new != old]
    if not taken:
        return []
    one = len(taken) == 1
    return [
        f"{', '.join(taken)}: only the files written here know {'it' if one else 'them'}; name "
        f"{'it' if one else 'them'} with `special` or `chat` when you learn"
    ]


def named_places(vocabulary: Vocabulary, names: Sequence[str]) -> Vocabulary:
    """The vocabulary with special tokens of these names, in reserved places where they are new."""
    missing = [name for name in dict.fromkeys(names) if name not in vocabulary.ids]
    if not missing:
        return vocabulary
    free = [name for name in vocabulary.of_kind("special") if RESERVED.fullmatch(name)]
    if len(free) < len(missing):
        raise SettingsError(
            f"there is no special token {missing[len(free)]!r}, and no reserved place for it: "
            f"{len(missing)} places are needed, {len(free)} are free; learn with it among the "
            f"`special` tokens, or with a larger `reserve`"
        )
    new = dict(zip(free, missing, strict=False))
    columns = replace(vocabulary.columns, texts=[new.get(text, text) for text in vocabulary.texts])
    return replace(vocabulary, tokens=columns)
