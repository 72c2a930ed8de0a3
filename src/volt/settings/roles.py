"""Options of special tokens: which there are, and what each is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from volt.base.options import (
    Settings,
    choice,
    form_of,
    many_lists,
    option,
    text,
    whole,
)

MOST_RESERVED = 100_000
DEFAULT_SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")


def chat_forms() -> list[str]:
    """What `chat` may say."""
    from volt.tokenizing.chat import TEMPLATES

    return [*TEMPLATES, "FILE"]


@dataclass(frozen=True, kw_only=True)
class UseSettings(Settings, group="Tokens"):
    """What special tokens are for, and how models use them."""

    bos: str | None = option(
        None, "Special token that begins a text.", text("NAME"),
        default_words="<s>, where it is a special token",
    )  # fmt: skip
    eos: str | None = option(
        None, "Special token that ends a text.", text("NAME"),
        default_words="</s>, where it is a special token",
    )  # fmt: skip
    pad: str | None = option(
        None, "Special token that fills a batch.", text("NAME"),
        default_words="<pad> or [PAD], where it is a special token",
    )  # fmt: skip
    mask: str | None = option(
        None, "Special token that hides another.", text("NAME"),
        default_words="<mask> or [MASK], where it is a special token",
    )  # fmt: skip
    add_bos: bool = option(
        False, "Put the token of `bos` before a text whose special tokens are asked for."
    )
    add_eos: bool = option(
        False, "Put the token of `eos` after a text whose special tokens are asked for."
    )
    chat: str | None = option(
        None, "Chat template, as its name or a Jinja file", form_of(chat_forms, lambda name: name),
        metavar="TEMPLATE",
    )  # fmt: skip
    max_length: int | None = option(
        None, "Longest input of the model, in tokens.", whole(1, 2**53), default_words="not said"
    )
    padding_side: Literal["right", "left"] | None = option(
        None, "Side of a batch that is padded", choice("right", "left"), default_words="right"
    )


@dataclass(frozen=True, kw_only=True)
class RoleSettings(UseSettings, group="Tokens"):
    """The special tokens of a vocabulary that is learned."""

    special: Sequence[str] = option(
        DEFAULT_SPECIAL, "Special tokens, with ids from 0 on, instead of the default; may be given "
        "several times.",
        many_lists(),
    )  # fmt: skip
    unk: str | None = option(
        None, "Special token of unknown characters.", text("NAME"), default_words="<unk>"
    )
    reserve: int = option(
        0, "Number of special tokens to leave for later: <|reserved_0|> and so on.",
        whole(0, MOST_RESERVED),
    )  # fmt: skip

    def _check(self) -> None:
        super()._check()
        object.__setattr__(self, "special", self._every_special())
        from volt.tokenizing.roles import check_learned_roles

        check_learned_roles(self)  # before any text is read

    @property
    def unknown_token(self) -> str:
        return self.unk or DEFAULT_SPECIAL[3]

    def _every_special(self) -> tuple[str, ...]:
        """The special tokens with those that roles, the chat template and `reserve` name. Without
        `special`, a role's name takes the place of its default."""
        from volt.tokenizing.chat import read_template, template_names
        from volt.tokenizing.roles import reserved_names

        roles = (self.pad, self.bos, self.eos, self.unk)
        names = list(self.special)
        if tuple(names) == DEFAULT_SPECIAL:
            both = zip(roles, DEFAULT_SPECIAL, strict=True)
            names = list(dict.fromkeys(own or name for own, name in both))
        more = [name for name in (*roles, self.mask) if name]
        if self.chat is not None:
            more += template_names(read_template(self.chat))
        more += reserved_names(self.reserve)
        # A name that was given twice stays, and is refused later.
        return (*names, *(name for name in dict.fromkeys(more) if name not in names))
