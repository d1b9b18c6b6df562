"""Answers of decision models in the shapes of their vendors, and logs of them. All are invented."""

import gzip
import json
from copy import deepcopy

QUESTIONS = {
    "urgent": {"type": "noul", "instructions": "Is it urgent?"},
    "team": {
        "type": "choice",
        "instructions": "Which team?",
        "criteria": {"billing": None, "tech": None, "sales": None},
    },
    "anger": {
        "type": "score",
        "instructions": "How angry?",
        "criteria": ["calm", "cross", "furious"],
    },
}
LEGEND = {"0": "calm", "1": "cross", "2": "furious"}
LABELS = {"urgent": True, "team": "tech", "anger": "furious"}


def shape_a(p=0.91, team=(0.1, 0.8, 0.1), anger=(0.1, 0.1, 0.8), **more):
    """TypeSafe, and those that copy it."""
    options = dict(zip(("billing", "tech", "sales"), team, strict=True))
    return {
        "model": "jev-1.13.0",
        "answers": {
            "urgent": {"type": "noul", "noul": p},
            "team": {
                "type": "choice",
                "choice": max(options, key=options.get),
                "confidence": 0.7,
                "probabilities": options,
            },
            "anger": {
                "type": "score",
                "score": 1.7,
                "confidence": 0.55,
                "legend": LEGEND,
                "probabilities": dict(zip("012", anger, strict=True)),
            },
        },
        "usage": {"input_tokens": 212, "output_tokens": 0},
        **more,
    }


def shape_b(**more):
    """OpenAI."""
    return {
        "model": "gpt-6-luna",
        "answers": [
            {"type": "predicate", "name": "urgent", "probability": 0.91},
            {
                "type": "choice",
                "name": "team",
                "choice": "tech",
                "confidence": 0.8,
                "probabilities": [
                    {"value": "billing", "probability": 0.1},
                    {"value": "tech", "probability": 0.8},
                    {"value": "sales", "probability": 0.1},
                ],
            },
            {
                "type": "score",
                "name": "anger",
                "score": 1.7,
                "confidence": 0.6,
                "probabilities": [
                    {"value": 0, "label": "calm", "probability": 0.1},
                    {"value": 1, "label": "cross", "probability": 0.1},
                    {"value": 2, "label": "furious", "probability": 0.8},
                ],
            },
        ],
        **more,
    }


def shape_c(**more):
    """Google: the confidence of every answer is the winner's probability; no model is named."""
    answers = deepcopy(shape_a()["answers"])
    answers["urgent"]["confidence"] = 0.91
    answers["team"]["confidence"] = answers["anger"]["confidence"] = 0.8
    return {"answers": answers, "usage": {"total_tokens": 120}, **more}


def clef(**more):
    """Cloudflare."""
    return {"result": shape_a(), "success": True, "errors": [], "messages": [], **more}


def databricks(**more):
    made = shape_a(**more)
    made["answers"]["urgent"] = {"type": "noul", "probability": 0.91}
    return made


def laya(**more):
    made = shape_a(**more)
    made["answers"]["anger"]["legend"] = list(LEGEND.values())
    return made


def vercel(**more):
    answers = {
        "urgent": {"probability": 0.91},
        "team": {"choice": "tech", "probabilities": shape_a()["answers"]["team"]["probabilities"]},
        "anger": shape_a()["answers"]["anger"],
    }
    metadata = {"typesafe": {"confidence": {"urgent": 0.82}}}
    return {"answers": answers, "providerMetadata": metadata, **more}


def jev_eval(row=0, **more):
    """The cache of jev-eval: one line per question."""
    return [
        {
            "model": "jev-1.13.0",
            "row": row,
            "state_hash": f"s{row}",
            "id": name,
            "type": QUESTIONS[name]["type"],
            "question_hash": f"q-{name}",
            "question": QUESTIONS[name],
            "answer": shape_a()["answers"][name],
            "gold": gold,
            "meta": {"country": "DE" if row else "FR"},
            "state_chars": 10,
            **more,
        }
        for name, gold in LABELS.items()
    ]


def judge_audit(idx=0):
    """Judgments of judge-audit."""
    texts = {"urgent": "true", "team": "tech", "anger": "furious"}
    return [
        {
            "idx": idx,
            "question": name,
            "expected": text,
            "decision": text,
            "correct": True,
            "confidence": 0.8,
            "parse_status": "ok",
            "meta": {},
            "raw": {"answer": shape_a()["answers"][name], "served": "jev-1.13.0"},
        }
        for name, text in texts.items()
    ]


def langfuse(subject="t1"):
    """Scores of Langfuse, and the annotations of a person."""
    values = {
        "urgent": ("NUMERIC", 0.91),
        "team": ("CATEGORICAL", "tech"),
        "anger": ("NUMERIC", 1.7),
    }
    scores = [
        {
            "id": f"{subject}-{name}",
            "name": name,
            "dataType": kind,
            "value": value,
            "source": "API",
            "metadata": {
                "typesafe": {
                    "questionId": name,
                    "model": "jev-1.13.0",
                    **{
                        key: part
                        for key, part in shape_a()["answers"][name].items()
                        if key not in ("noul", "choice")
                    },
                }
            },
            "subject": {"id": subject, "traceId": f"trace-{subject}"},
        }
        for name, (kind, value) in values.items()
    ]
    people = [
        {
            "id": f"{subject}-{name}-person",
            "name": name,
            "dataType": "CATEGORICAL",
            "value": label,
            "source": "ANNOTATION",
            "subject": {"id": subject, "traceId": f"trace-{subject}"},
        }
        for name, label in LABELS.items()
    ]
    return [*scores, *people]


def langsmith(run="r1"):
    """Feedback of LangSmith with corrections."""
    values = {"urgent": {"score": 0.91}, "team": {"value": "tech"}, "anger": {"score": 1.7}}
    return [
        {
            "id": f"{run}-{name}",
            "run_id": run,
            "trace_id": f"trace-{run}",
            "key": name,
            "score": None,
            "value": None,
            **values[name],
            "correction": label,
            "feedback_source": {
                "type": "model",
                "metadata": {
                    "typesafe": {**shape_a()["answers"][name], "model": "jev-1.13.0"},
                },
            },
        }
        for name, label in LABELS.items()
    ]


LOGS = {
    "jev-eval": jev_eval(),
    "judge-audit": [{"idx": -1, "dataset": {"ground_truth": {}}}, *judge_audit()],
    "Langfuse": langfuse(),
    "LangSmith": langsmith(),
}


def requested(response, questions=None, state="My invoice is wrong", **more):
    """A request and its response."""
    request = {"model": "jev-latest", "state": state, "questions": questions or QUESTIONS}
    return {"request": request, "response": response, **more}


def written(folder, lines, name="answers.jsonl"):
    """A file of these lines: JSON Lines, a list (.json), or packed (.gz)."""
    if name.endswith(".json"):
        content = json.dumps(lines, indent=1)
    else:
        content = "\n".join(map(json.dumps, lines))
    file = folder / name
    data = content.encode()
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return file
