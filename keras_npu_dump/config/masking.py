"""Arguments of a script as they may be kept: values that look secret are left out.

A dump folder is copied to other machines and people. What is masked is a guess by names
and forms: a secret that stands alone and looks like any other word cannot be told.
"""
from __future__ import annotations

import re
from typing import List, Sequence

MASK = "***"
# Parts of a name, as in --hf_token, HF_TOKEN, hfToken, model.auth.key.
_WORDS = frozenset((
    "auth", "authorization", "authentication", "bearer", "cookie", "cookies", "cred", "creds",
    "credential", "credentials", "key", "keys", "pass", "passphrase", "passwd", "password",
    "passwords", "private", "pw", "pwd", "secret", "secrets", "token", "tokens"))
# Names without a boundary: apikey, mytoken, dbpassword, oauth2.
_GLUED = re.compile(r"passw|passphrase|secret|credential|(api|access|auth|private|ssh)_?key"
                    r"|token$|pwd$|^oauth")
# Counts of tokens are no secrets: --max_tokens=512, --num_tokens 30000.
_COUNT = re.compile(r"[0-9]+(\.[0-9]+)?\Z")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", re.ASCII)
# --name=value, -name=value, NAME=value, +model.name=value
_ASSIGNED = re.compile(r"([-+]*[A-Za-z_][\w.-]*)=(.*)\Z", re.DOTALL)
# What may be a name in front of a value, inside of an argument: "token": "abc", &api_key=abc.
# From the begin of a word: a long one would be looked at once for each of its letters.
_NAMED = re.compile(r"(?<![\w-])([\w-]+)[\"']?\s*[:=]\s*")
_VALUE = re.compile(r"\"[^\"]*\"?|'[^']*'?|(?:(?:Bearer|Basic|Token)\s+)?[^\s,;&\"'}\])]+",
                    re.IGNORECASE)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+\S+")
# scheme://user:password@host, scheme://token@host, user:password@host
_USER = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}://)(?:[^/?#\s]*|[^\s/:@]+:[^\s@]*)@"
                   r"|(^|[\s=\"'])[\w.-]+:[^\s/:@][^\s/@]*@")
# Forms that issuers give their keys, so that they are found when leaked.
_ISSUED = re.compile(r"\b(hf_[A-Za-z0-9]{16,}|gh[opsur]_[A-Za-z0-9]{16,}|github_pat_\w{16,}"
                     r"|glpat-[\w-]{16,}|sk-[\w-]{16,}|xox[abprs]-[\w-]{10,}|A[KS]IA[A-Z0-9]{16}"
                     r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)", re.ASCII)
_PASSWORD_LETTER = "-p"
# Of longer arguments, documents rather than words, the begin is kept.
_LONGEST = 4000


def kept_arguments(arguments: Sequence[object], kept: str) -> List[str]:
    """What a record keeps of the arguments of a command.

    Args:
      arguments: as `sys.argv` has them, the script first.
      kept: "full", "masked" or "none", as the option `record` has it.
    """
    texts = [str(one) for one in arguments]
    if kept == "full":
        return texts
    return masked_arguments(texts) if kept == "masked" else texts[:1]


def masked_arguments(arguments: Sequence[str]) -> List[str]:
    """The arguments of a command, what looks secret replaced by `***`.

    Args:
      arguments: as `sys.argv` has them, the script first.

    Returns:
      As many. Masked are values of names that look secret, in the forms `--token=x`,
      `--token x`, `-p x`, `HF_TOKEN=x`, `{"token": "x"}`, `?api_key=x`; user and password in
      `scheme://user:password@host`; and keys in the forms of known issuers.
    """
    found: List[str] = []
    name = ""  # of the option whose value comes next, where it looks secret
    for argument in arguments:
        if name and not argument.startswith("--"):
            found.append(argument if _is_count(name, argument) else MASK)
            name = ""
            continue
        name = argument if argument == _PASSWORD_LETTER or (
            argument.startswith("-") and "=" not in argument and _is_secret(argument)) else ""
        found.append(_masked(argument))
    return found


def _masked(argument: str) -> str:
    if len(argument) > _LONGEST:
        argument = argument[:_LONGEST] + "..."
    match = _ASSIGNED.match(argument)
    if match is not None:
        name, value = match.groups()
        if name == _PASSWORD_LETTER or _is_secret(name):
            return argument if _is_count(name, value) else "%s=%s" % (name, MASK)
    return masked_text(argument)


def masked_text(text: str) -> str:
    """A text, what looks secret in it replaced by `***`: see `masked_arguments`."""
    text = _USER.sub(lambda found: "%s%s@" % (found.group(1) or found.group(2) or "", MASK), text)
    return _ISSUED.sub(MASK, _BEARER.sub(r"\1 " + MASK, _mask_named(text)))


def _mask_named(text: str) -> str:
    """Masks values behind secret names, wherever they stand."""
    pieces, done = [], 0
    match = _NAMED.search(text)
    while match is not None:
        position = match.end()
        value = _VALUE.match(text, position)
        if value is not None and _is_secret(match.group(1)) and not _is_count(
                match.group(1), value.group()):
            quote = value.group()[0] if value.group()[0] in "\"'" else ""
            pieces += [text[done:position], quote, MASK, quote]
            position = done = value.end()
        match = _NAMED.search(text, position)
    return "".join(pieces) + text[done:]


def _parts(name: str) -> List[str]:
    return [part.lower() for part in _PART.findall(name.replace("_", " "))]


def _is_secret(name: str) -> bool:
    """Whether the name of an option, a variable or a field looks like that of a secret."""
    return any(part in _WORDS or _GLUED.search(part) for part in _parts(name))


def _is_count(name: str, value: str) -> bool:
    """Whether it is a number of tokens."""
    return _parts(name)[-1:] == ["tokens"] and _COUNT.match(value) is not None
