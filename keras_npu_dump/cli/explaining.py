"""keras-npu-dump explain: what a problem code means, why, and what to do."""
import argparse

from keras_npu_dump.cli.common import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `explain` to its parser."""
    parser.add_argument("code", metavar="CODE", nargs="?",
                        help="the word in brackets behind a problem (default: list all)")
    parser.add_argument("--lang", choices=("en", "zh"),
                        help="English or Chinese (default: as the locale says)")


def explain(options: argparse.Namespace) -> int:
    """Prints the explanation of a code, or a line for each code.

    Args:
      options: as `add_arguments` has them.

    Returns:
      The exit status: 0.

    Raises:
      InputError: there is no such code.
    """
    from keras_npu_dump.explain.explanation import explanations, known_code, language_of
    from keras_npu_dump.explain.usual_severity import USUAL
    from keras_npu_dump.report.explain_text import explanation_text, list_text
    from keras_npu_dump.report.printing import print_text
    language = options.lang or language_of()
    texts = explanations(language)
    code = None if options.code is None else known_code(options.code, texts)
    if options.json:
        print_json({"schema": "keras_npu_dump.explain/1", "lang": language, "codes": [
            dict(code=one, severity=USUAL[one], **texts[one]._asdict())
            for one in (sorted(texts) if code is None else [code])]})
    elif code is None:
        print_text(list_text(texts))
    else:
        print_text(explanation_text(code, texts[code], language))
    return 0
