"""What a Hugging Face folder says besides `tokenizer.json`: roles, the chat template, lengths."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from volt.base.errors import InputError
from volt.base.gate import SETTINGS, read_bytes, read_json
from volt.base.schema import brief, check, optional, table, text
from volt.formats.assembly import Parsed
from volt.formats.files import parsed_count
from volt.formats.huggingface.classes import (
    CONFIG,
    LEADING_SPACE,
    LLAMA_CLASSES,
    class_of,
    with_settings,
)
from volt.formats.huggingface.file import Columns, TokenizerJson
from volt.tokenizing.chat import template_names, template_roles, turn_ends
from volt.tokenizing.roles import NAMED, USUAL, RoleName, Roles, as_usual, role_name
from volt.tokenizing.schemas import MOST_TOKENS, TOKEN_IDS
from volt.tokenizing.vocabulary import Vocabulary

ANY_INPUT = 1000000000000000019884624838656
"""`model_max_length` where no length is said: what transformers itself writes then."""
LONGEST_INPUT = 2**53
TEMPLATE, MAP = "chat_template.jinja", "special_tokens_map.json"
ADDED = "added_tokens.json"
GENERATION, OF_THE_FILE = "generation_config.json", ("_from_model_config", "transformers_version")
PLAIN_NAME = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
"""An added token that is found anywhere, as it is."""
ROLE_ORDER = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
"""In this order transformers adds tokens that only its settings name."""
NUMBERS_PIECES = ("Llama", "CodeLlama", "Gemma")
"""Classes whose ids are those of the SentencePiece model; others put tokens between."""
RENUMBERS = ("XLMRoberta", "Camembert", "MBart", "MBart50", "Nllb", "SeamlessM4T", "XGLM", "PLBart",
             "MLuke", "Bartpho", "Pegasus")  # fmt: skip
"""Classes that give the pieces of a SentencePiece model other ids than the model does."""
ADDED_BY_CLASS = {
    "LlamaTokenizer": "bos", "CodeLlamaTokenizer": "bos", "GemmaTokenizer": "bos",
    "T5Tokenizer": "eos",
}  # fmt: skip
"""What classes of transformers add to a text if the settings do not say it."""


# -------------------------------------------------------------------------------------------- write


def role_tokens(vocabulary: Vocabulary) -> dict[str, str]:
    """`bos_token` and its like."""
    found = {role: vocabulary.role(role) for role in sorted(USUAL)}
    return {f"{role}_token": name for role, name in found.items() if name is not None}


def config(vocabulary: Vocabulary) -> dict[str, Any]:
    """`tokenizer_config.json` as transformers 5 writes it after loading it from a folder. Only
    the name of the class differs: `TokenizersBackend`, which it writes, is unknown to version 4."""
    roles = vocabulary.roles
    found = {
        "backend": "tokenizers",
        "clean_up_tokenization_spaces": False,
        "is_local": True,
        "local_files_only": False,
        "model_max_length": roles.max_length or ANY_INPUT,
        "padding_side": roles.padding_side,
        "tokenizer_class": "PreTrainedTokenizerFast",
        **role_tokens(vocabulary),
    }
    return dict(sorted(found.items()))


def generation(vocabulary: Vocabulary) -> dict[str, Any]:
    """`generation_config.json`: where a model begins and ends, a turn of a chat included."""
    ids = vocabulary.ids
    ends = [vocabulary.role("eos"), *turn_ends(vocabulary.roles.chat or "")]
    last = list(dict.fromkeys(ids[name] for name in ends if name is not None))
    ends_of: tuple[RoleName, ...] = ("bos", "pad")
    found: dict[str, Any] = {
        f"{role}_token_id": ids[name] for role in ends_of if (name := vocabulary.role(role))
    }
    if last:
        found["eos_token_id"] = last[0] if len(last) == 1 else last
    return dict(sorted(found.items()))


def generation_left_out(vocabulary: Vocabulary, folder: Path) -> list[str]:
    """What is not taken over from the `generation_config.json` of a folder."""
    own = generation(vocabulary)
    lost = [key for key, value in settings_of(folder, GENERATION).items()
            if own.get(key) != value and key not in OF_THE_FILE]  # fmt: skip
    if not lost:
        return []
    return [
        f"{GENERATION} is the model's and not taken over ({', '.join(lost)}); the ids stay, so "
        "keep it as it is"
    ]


def post_processor(vocabulary: Vocabulary) -> dict[str, Any]:
    """What goes around a text, and around two: `<s> A </s>`, `<s> A </s> <s> B </s>`."""
    before, after = vocabulary.around

    def part(side: str, kind: int) -> list[dict[str, Any]]:
        names = [[{"SpecialToken": {"id": vocabulary.texts[i], "type_id": kind}} for i in some]
                 for some in (before, after)]  # fmt: skip
        return [*names[0], {"Sequence": {"id": side, "type_id": kind}}, *names[1]]

    return {
        "type": "TemplateProcessing",
        "single": part("A", 0),
        "pair": part("A", 0) + part("B", 1),
        "special_tokens": {
            vocabulary.texts[i]: {
                "id": vocabulary.texts[i], "ids": [i], "tokens": [vocabulary.texts[i]]
            }
            for i in sorted({*before, *after}, key=lambda i: vocabulary.texts[i])
        },
    }  # fmt: skip


# --------------------------------------------------------------------------------------------- read


def read_roles(parsed: Parsed, data: dict[str, Any] | None, path: Path) -> None:
    """The roles that `tokenizer.json`, if there is one, and the folder give to special tokens. What
    they say of tokens that are not there is left out."""
    special = {name for name, kind in parsed.kinds.items() if kind == "special"}
    parsed.roles, told = roles_beside(path, parsed.roles, parsed.unknown_token, special, data)
    parsed.messages += told


def roles_beside(
    path: Path, roles: Roles, unknown: str, special: set[str], data: dict[str, Any] | None = None
) -> tuple[Roles, list[str]]:
    """Roles with those that the settings of a folder give, and what was left out. `data` is its
    `tokenizer.json`; without one, the settings say what is added around a text."""
    files = (MAP, CONFIG)
    settings = settings_of(path, *files) if path.is_dir() else {}
    for role in NAMED:
        name = _content(settings.get(f"{role}_token"))
        if name in special:
            changes: dict[str, Any] = {role: name}
            roles = replace(roles, **changes)
    if data is None:
        roles = _read_added(roles, settings, unknown, special)
    else:
        roles = _read_template(roles, data.get("post_processor"), special)
    longest = settings.get("model_max_length")
    if type(longest) is int and 0 < longest <= LONGEST_INPUT:
        roles = replace(roles, max_length=longest)
    if settings.get("padding_side") == "left":
        roles = replace(roles, padding_side="left")
    told = []
    chat = _chat(settings, path)
    if chat is not None:
        asked = [role_name(role, roles, unknown, special) for role in template_roles(chat)]
        if None not in asked and special.issuperset(template_names(chat)):
            roles = replace(roles, chat=chat)
        else:
            told.append("the chat template needs tokens that are not special: left out")
    return as_usual(roles, unknown, special), told


def with_beside(data: dict[str, Any], folder: Path) -> tuple[dict[str, Any], list[str]]:
    """A `tokenizer.json` as `transformers` uses it with the files beside it, and what they change:
    added tokens, and settings that its class applies."""
    data, told = with_settings(data, settings_of(folder, CONFIG))
    data, more = _with_names_beside(data, folder)
    return data, [*told, *more]


def _with_names_beside(data: dict[str, Any], folder: Path) -> tuple[dict[str, Any], list[str]]:
    """With the added tokens that only the files beside it have."""
    listed = data.get("added_tokens") or []
    known = {one["content"] for one in listed}
    vocab = data["model"]["vocab"]
    own = vocab if isinstance(vocab, dict) else {one[0]: i for i, one in enumerate(vocab)}
    found = [
        {"id": number, **one} for number, one in sorted(named_beside(folder).items())
        if one["content"] not in known and own.get(one["content"], number) == number
    ]  # fmt: skip
    known |= {one["content"] for one in found}
    # The library numbers new names like this.
    number = max([len(own), *(one["id"] + 1 for one in [*listed, *found])])
    for one in named_by_roles(folder):
        if one["content"] not in known:
            found.append({"id": own.get(one["content"], number), **one})
            number += one["content"] not in own
    if not found:
        return data, []
    told = (
        f"{len(found):,} added tokens, such as {found[0]['content']!r}, are only in {CONFIG}, "
        f"{ADDED} or {MAP}"
    )
    return {**data, "added_tokens": [*listed, *found]}, [told]


def read_beside(
    found: TokenizerJson, folder: Path | None
) -> tuple[dict[str, Any], Columns | None, list[str]]:
    """The value of a file, its columns, and what to say: as the files beside it change it. If they
    do, all of it is read, and there are no columns."""
    if folder is None or not with_beside(found.head, folder)[1]:
        return found.head, found.columns, []
    head, told = with_beside(found.whole, folder)
    return head, None, told


TOKENIZER_CONFIG = table(
    {}, {"added_tokens_decoder": optional(table({}, others=table({"content": text()})))}
)


def named_beside(folder: Path) -> dict[int, dict[str, Any]]:
    """The added tokens of tokenizer_config.json and added_tokens.json, by id."""
    found: dict[int, dict[str, Any]] = {}
    listed = settings_of(folder, ADDED)
    check(TOKEN_IDS, listed, str(folder / ADDED))
    for name, number in listed.items():
        found[number] = {"content": name, **PLAIN_NAME, "special": True}
    config = settings_of(folder, CONFIG)
    check(TOKENIZER_CONFIG, config, str(folder / CONFIG))
    for key, one in (config.get("added_tokens_decoder") or {}).items():
        number = parsed_count(key)
        if number is None or number >= MOST_TOKENS:
            raise InputError(
                f"{folder / CONFIG}: added_tokens_decoder: {brief(key)} is not an id below "
                f"{MOST_TOKENS:,}"
            )
        flags = {key: bool(one.get(key, False)) for key in (*PLAIN_NAME, "special")}
        found[number] = {"content": one["content"], **flags}
    return found


def named_by_roles(folder: Path) -> list[dict[str, Any]]:
    """The tokens that the settings of a folder name by what they are for, such as `pad_token`, in
    the order in which transformers adds those that are not there yet."""
    settings = settings_of(folder, CONFIG)
    if "added_tokens_decoder" not in settings:
        settings |= settings_of(folder, MAP)
    roles = [f"{role}_token" for role in ROLE_ORDER]
    more = settings.get("extra_special_tokens") or settings.get("additional_special_tokens") or []
    others = {key: value for key, value in settings.items() if key.endswith("_token")}
    if isinstance(more, dict):
        others, more = others | more, []
    named = [*(settings.get(role) for role in roles),
             *(value for key, value in others.items() if key not in roles),
             *(more if isinstance(more, list) else [])]  # fmt: skip
    found: dict[str, dict[str, Any]] = {}
    for one in named:
        if name := _content(one):
            flags = {flag: isinstance(one, dict) and one.get(flag) is True for flag in PLAIN_NAME}
            found.setdefault(name, {"content": name, **flags, "special": True})
    return [*found.values()]


def names_after(folder: Path, pieces: list[str]) -> dict[int, dict[str, Any]]:
    """By id, the tokens that the files beside a SentencePiece model add after its pieces."""
    own = set(pieces)
    found = {number: one for number, one in named_beside(folder).items()
             if number >= len(pieces) and one["content"] not in own}  # fmt: skip
    if class_of(settings_of(folder, CONFIG)) in NUMBERS_PIECES:
        own |= {one["content"] for one in found.values()}
        new = [one for one in named_by_roles(folder) if one["content"] not in own]
        found |= dict(enumerate(new, max([len(pieces), *(number + 1 for number in found)])))
    return dict(sorted(found.items()))


def renumbering_class(folder: Path) -> str | None:
    """The class that the settings name, if its ids are not those of the SentencePiece model."""
    settings = settings_of(folder, CONFIG)
    return str(settings["tokenizer_class"]) if class_of(settings) in RENUMBERS else None


def leading_space(folder: Path) -> list[str]:
    """What to know of a model that puts a `▁` before a text, if transformers runs it differently.
    With any value of `legacy`; tried with transformers 5.23."""
    settings = settings_of(folder, CONFIG)
    if class_of(settings) not in LLAMA_CLASSES or settings.get("add_prefix_space") is False:
        return []
    return [LEADING_SPACE.format(kind=f"its {settings['tokenizer_class']}")]


def settings_of(folder: Path, *names: str) -> dict[str, Any]:
    """What files of settings say, the last first; nothing if there are none."""
    found: dict[str, Any] = {}
    for name in names:
        if (folder / name).exists():
            found |= read_json(folder / name, table({}), SETTINGS)
    return found


def _content(token: Any) -> str | None:
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else None


def _chat(settings: dict[str, Any], path: Path) -> str | None:
    if path.is_dir() and (path / TEMPLATE).exists():
        return read_bytes(path / TEMPLATE).decode(errors="replace")
    found = settings.get("chat_template")
    return found if isinstance(found, str) else None


def _read_added(roles: Roles, settings: dict[str, Any], unknown: str, special: set[str]) -> Roles:
    """`bos` and `eos` that settings add to a text, or else the class that they name."""
    by_class = ADDED_BY_CLASS.get(str(settings.get("tokenizer_class")).removesuffix("Fast"))
    ends: tuple[RoleName, ...] = ("bos", "eos")
    for role in ends:
        added = settings.get(f"add_{role}_token")
        if not isinstance(added, bool):
            added = True if role == by_class else None
        if added is not None and role_name(role, roles, unknown, special) is not None:
            changes: dict[str, Any] = {f"add_{role}": added}
            roles = replace(roles, **changes)
    return roles


def _read_template(roles: Roles, post: Any, special: set[str]) -> Roles:
    """`bos` and `eos` that a TemplateProcessing adds, alone or among other steps."""
    if isinstance(post, dict) and isinstance(post.get("processors"), list):
        for one in post["processors"]:
            roles = _read_template(roles, one, special)
        return roles
    if not isinstance(post, dict) or post.get("type") != "TemplateProcessing":
        return roles
    single = post.get("single")
    names = [_template_name(one) for one in single] if isinstance(single, list) else []
    if names.count("") != 1 or not {*names, ""} <= {*special, ""} or len(names) > 3:
        return roles
    before, after = names[: names.index("")], names[names.index("") + 1 :]
    ends: list[tuple[RoleName, list[str]]] = [("bos", before), ("eos", after)]
    for role, some in ends:
        known = role_name(role, roles, "", special)
        if len(some) == 1 and getattr(roles, role) in (None, some[0]):
            own = None if known == some[0] else some[0]
            changes: dict[str, Any] = {f"add_{role}": True, role: getattr(roles, role) or own}
            roles = replace(roles, **changes)
    return roles


def _template_name(part: Any) -> str:
    """The special token of a part of a template; nothing for the text itself."""
    inner = part.get("SpecialToken") if isinstance(part, dict) else None
    found = inner.get("id") if isinstance(inner, dict) else None
    return found if isinstance(found, str) else ""
