"""Trains the model that fovea_translate runs, measures it, and writes what the folder keeps:

    model.safetensors   the weights; matrices in F16, the rest in F32
    held_out.txt        500 inputs with dates that training never saw, and their answers
    golden.txt          logits and alignments of a few inputs, by PyTorch in float64

The command, with torch 2.13.0 (CPU) and numpy from PyPI; minutes on two cores:

    python train.py

Everything is drawn from SEED. Weights of another machine or version may differ in their last bits, and then so do
model.safetensors and golden.txt.
"""
import datetime
import json
import os
import random
import struct
import time

import torch
from torch import nn

SEED = 5
STEPS, BATCH, RATE, SMOOTHING = 5000, 64, 3e-3, 0.02
SORTED = 32  # batches that are drawn together, and cut by length
LETTERS, SYMBOLS = " ',-./0123456789abcdefghijlmnoprstuvwxy", "$0123456789-"  # "$" begins and ends an answer
EMBEDDED, STATE, ALIGNED, FED = 24, 64, 64, 12  # sizes: a letter, a state, a projected state, a symbol
GOLDEN = ("march 3rd, 2019", "the twenty-first of september nineteen ninety-nine", "7.1.1950", "sun, 5 may '24")
HERE = os.path.dirname(os.path.abspath(__file__))

MONTHS = "january february march april may june july august september october november december".split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen").split()
TENS = "? ? twenty thirty forty fifty sixty seventy eighty ninety".split()
ORDINALS = ("? first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
            "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth").split()
FIRST, COUNT = datetime.date(1900, 1, 1), 73049  # up to 2099-12-31

# ---- Dates in words ---------------------------------------------------------------------------------------------


def number(n):
    return ONES[n] if n < 20 else TENS[n // 10] + ("-" + ONES[n % 10] if n % 10 else "")


def ordinal_word(n):
    if n <= 20:
        return ORDINALS[n]
    return "thirtieth" if n == 30 else TENS[n // 10] + "-" + ORDINALS[n % 10]


def ordinal(n):
    return str(n) + ("th" if n in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th"))


def year_words(draw, year):
    hundreds, rest = divmod(year, 100)
    if hundreds == 20 and (rest < 10 or draw.random() < 0.3):
        return "two thousand" + (draw.choice([" ", " and "]) + number(rest) if rest else "")
    if rest == 0:
        return number(hundreds) + " hundred"
    return number(hundreds) + (" oh " if rest < 10 else " ") + number(rest)


def write_year(draw, year):
    style = draw.random()
    if style < 0.3:
        return year_words(draw, year)
    if style < 0.5 and 1950 <= year < 2050:
        return draw.choice(["'", ""]) + f"{year % 100:02d}"
    return str(year)


def write_date(draw, date):
    """A date as people write it."""
    if draw.random() < 0.12:
        return draw.choice([f"{date.day}.{date.month}.{date.year}", f"{date.day:02d}.{date.month:02d}.{date.year}",
                            f"{date.year}/{date.month}/{date.day}", f"{date.year}-{date.month:02d}-{date.day:02d}"])
    month = MONTHS[date.month - 1]
    if draw.random() < 0.35:
        month = month[:3] + draw.choice(["", "."])
    day = draw.choice([str(date.day), ordinal(date.day), ordinal_word(date.day)])
    year = write_year(draw, date.year)
    order = draw.random()
    if order < 0.5:
        text = draw.choice(["", "the "]) + day + draw.choice([" ", " of "]) + month
        text += draw.choice([" ", ", "]) + year
    elif order < 0.85:
        text = month + draw.choice([" ", " ", " the "]) + day + draw.choice([" ", ", "]) + year
    elif order < 0.93:
        text = str(date.year) + " " + month + " " + day
    else:
        text = str(date.day) + "-" + month[:3] + "-" + str(date.year)
    if draw.random() < 0.25:
        name = DAYS[date.weekday()]
        text = draw.choice([name, name[:3]]) + draw.choice([" ", ", "]) + text
    return text


def draw_pair(draw, held_out):
    """Every tenth date is held out: no training text has it, however it is written."""
    while True:
        index = draw.randrange(COUNT)
        if (index % 10 == 7) == held_out:
            date = FIRST + datetime.timedelta(days=index)
            return write_date(draw, date), date.isoformat()


# ---- The model --------------------------------------------------------------------------------------------------


class Translator(nn.Module):
    """A bidirectional GRU reads; a GRU writes, with additive attention (Bahdanau et al., 2015). Its first state is
    the last state of the backward reader."""

    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), EMBEDDED)
        self.symbols = nn.Embedding(len(SYMBOLS), FED)
        self.reader = nn.GRU(EMBEDDED, STATE, bidirectional=True, batch_first=True)
        self.writer = nn.GRUCell(2 * STATE + FED, STATE)
        self.query = nn.Linear(STATE, ALIGNED)
        self.key = nn.Linear(2 * STATE, ALIGNED, bias=False)
        self.score = nn.Linear(ALIGNED, 1, bias=False)
        self.answer = nn.Linear(3 * STATE, len(SYMBOLS))

    def read(self, letters, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.letters(letters), lengths, batch_first=True,
                                                   enforce_sorted=False)
        states, last = self.reader(packed)
        memory, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
        hidden = torch.arange(memory.shape[1])[None, :] >= lengths[:, None]
        return memory, self.key(memory), hidden, last[1]

    def write(self, reading, state, symbol):
        memory, keys, hidden, _ = reading
        scores = self.score(torch.tanh(self.query(state)[:, None] + keys)).squeeze(2)
        weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), 1)
        context = (weights[:, None] @ memory).squeeze(1)
        state = self.writer(torch.cat([context, self.symbols(symbol)], 1), state)
        return self.answer(torch.cat([state, context], 1)), weights, state

    def forward(self, letters, lengths, answers):
        """Logits of all steps, each told the right symbol of the step before."""
        reading = self.read(letters, lengths)
        state, before, logits = reading[3], torch.zeros_like(answers[:, 0]), []
        for step in range(answers.shape[1]):
            out, _, state = self.write(reading, state, before)
            logits.append(out)
            before = answers[:, step]
        return torch.stack(logits, 1)

    @torch.no_grad()
    def translate(self, letters, lengths, steps=11):
        """Logits, alignments and symbols of greedy decoding."""
        reading = self.read(letters, lengths)
        state, before, parts = reading[3], torch.zeros(len(letters), dtype=torch.long), []
        for _ in range(steps):
            logits, weights, state = self.write(reading, state, before)
            before = logits.argmax(1)
            parts.append((logits, weights, before))
        return [torch.stack(part, 1) for part in zip(*parts)]


def encode(pairs):
    lengths = torch.tensor([len(text) for text, _ in pairs])
    letters = torch.zeros(len(pairs), int(lengths.max()), dtype=torch.long)
    for row, (text, _) in zip(letters, pairs):
        row[:len(text)] = torch.tensor([LETTERS.index(letter) for letter in text])
    answers = torch.tensor([[SYMBOLS.index(symbol) for symbol in answer + "$"] for _, answer in pairs])
    return letters, lengths, answers


def train(model, draw):
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS, pct_start=0.15)
    begin = time.time()
    for step in range(STEPS):
        if step % SORTED == 0:
            pairs = sorted((draw_pair(draw, False) for _ in range(SORTED * BATCH)), key=lambda pair: len(pair[0]))
            batches = [pairs[begin:begin + BATCH] for begin in range(0, len(pairs), BATCH)]
            draw.shuffle(batches)
        letters, lengths, answers = encode(batches[step % SORTED])
        logits = model(letters, lengths, answers).flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, answers.flatten(), label_smoothing=SMOOTHING)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"{step + 1:5d} steps, {time.time() - begin:4.0f} s, loss {loss.item():.5f}", flush=True)


def accuracy(model, pairs):
    right = 0
    for begin in range(0, len(pairs), 500):
        letters, lengths, answers = encode(pairs[begin:begin + 500])
        right += (model.translate(letters, lengths)[2] == answers).all(1).sum().item()
    return right / len(pairs)


# ---- Files ------------------------------------------------------------------------------------------------------


def round_matrices(model):
    """The weights become those that the file keeps."""
    for parameter in model.parameters():
        if parameter.dim() == 2 and parameter.shape[0] > 1:
            parameter.data = parameter.data.half().float()


def save(model, path):
    header, parts, begin = {}, [], 0
    for name, tensor in model.state_dict().items():
        matrix = tensor.dim() == 2 and tensor.shape[0] > 1
        tensor = tensor.half() if matrix else tensor
        data = tensor.numpy().tobytes()
        header[name] = {"dtype": "F16" if matrix else "F32", "shape": list(tensor.shape),
                        "data_offsets": [begin, begin + len(data)]}
        parts.append(data)
        begin += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def save_golden(model, path):
    """For each input a line with it, a line of logits and a line of weights for each step."""
    model = model.double()
    with open(path, "w", encoding="ascii") as file:
        for text in GOLDEN:
            letters, lengths, _ = encode([(text, "")])
            logits, weights, _ = model.translate(letters, lengths)
            file.write(text + "\n")
            for step in range(logits.shape[1]):
                for row in (logits[0, step], weights[0, step]):
                    file.write(" ".join(f"{value:.9g}" for value in row.tolist()) + "\n")


def main():
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    model = Translator()
    print(sum(parameter.numel() for parameter in model.parameters()), "weights")
    train(model, random.Random(SEED))
    round_matrices(model)
    draw = random.Random(SEED + 1)
    unseen = [draw_pair(draw, True) for _ in range(10000)]
    print(f"{100 * accuracy(model, unseen):.2f} % of 10000 held-out inputs are right, to the last digit")
    kept = unseen[:500]
    print(f"{100 * accuracy(model, kept):.2f} % of the inputs of held_out.txt are right")
    with open(os.path.join(HERE, "held_out.txt"), "w", encoding="ascii") as file:
        file.writelines(f"{text}\t{answer}\n" for text, answer in kept)
    save(model, os.path.join(HERE, "model.safetensors"))
    save_golden(model, os.path.join(HERE, "golden.txt"))


if __name__ == "__main__":
    main()
