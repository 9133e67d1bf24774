#!/usr/bin/env python3
"""tools/peers/torch_*.py without torch: problems, masks, operations, refusals. Run it with no arguments."""

import json
import pathlib
import subprocess
import sys
import types
import unittest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "peers"
sys.dont_write_bytecode = True
sys.path.insert(0, str(PEERS))
import torch_rows  # noqa: E402
import torch_sdpa  # noqa: E402

NO_TORCH = ("import runpy, sys; sys.modules['torch'] = None; sys.argv = sys.argv[1:]; "
            "sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[0].rpartition('/')[0]); "
            "runpy.run_path(sys.argv[0], run_name='__main__')")


class Problems(unittest.TestCase):
    def test_every_field(self):
        self.assertEqual(torch_rows.parse("fwd b2 h16/4 q4096 k8192 d192/128 bf16 causal-br layout=bshd"),
                         {"batch": 2, "heads_q": 16, "heads_kv": 4, "q_len": 4096, "k_len": 8192, "dim_qk": 192,
                          "dim_v": 128, "dtype": "bf16", "mask": "causal-br", "layout": "bshd"})

    def test_defaults(self):
        self.assertEqual(torch_rows.parse("fwd q7"),
                         {"batch": 1, "heads_q": 1, "heads_kv": 1, "q_len": 7, "k_len": 7, "dim_qk": 64, "dim_v": 64,
                          "dtype": "f32", "mask": "none", "layout": "bhsd"})

    def test_shortest_text(self):
        for text, shortest in (("fwd b1 h1 q64 k64 d64/64 f32 none layout=bhsd", "fwd q64 d64"),
                               ("fwd h32/8 q1 k8192 d128 f16 causal-br", "fwd h32/8 q1 k8192 d128 f16 causal-br")):
            self.assertEqual(torch_rows.text_of(torch_rows.parse(text)), shortest)

    def test_refused(self):
        for text in ("", "bwd q8", "fwd q8 lse", "fwd q8 f8", "fwd h3/2 q8", "fwd q0", "fwd q8 strided"):
            with self.assertRaises(torch_rows.Unsupported, msg=text):
                torch_rows.parse(text)

    def test_traffic(self):
        # 2 heads, 4 queries over 4 keys; causal sees 1 + 2 + 3 + 4 pairs a head.
        full = torch_rows.traffic(torch_rows.parse("fwd h2 q4 d8 f16"))
        self.assertEqual(full, (4 * 2 * 16 * 8, 4 * 2 * 4 * 8 * 2, 1.5))
        self.assertEqual(torch_rows.traffic(torch_rows.parse("fwd h2 q4 d8 f16 causal-br"))[0], 4 * 2 * 10 * 8)
        # Two queries at the lower right of four keys see 3 and 4 of them, at the upper left 1 and 2.
        self.assertEqual(torch_rows.traffic(torch_rows.parse("fwd q2 k4 d8 causal-br"))[0], 4 * 7 * 8)
        self.assertEqual(torch_rows.traffic(torch_rows.parse("fwd q2 k4 d8 causal-tl"))[0], 4 * 3 * 8)


    def test_copies(self):
        # 2 batches, 2 heads of keys, 50 keys, dims 96 and 32, 2 bytes: 51200.
        problem = torch_rows.parse("fwd b2 h4/2 q1 k50 d96/32 f16")
        self.assertEqual(torch_rows.key_bytes(problem), 51200)
        for size, copies in ((1, 1), (51200, 1), (51201, 2), (102400, 2), (511999, 10), (1e9, 10)):
            self.assertEqual(torch_rows.copies_for(problem, size, 10), copies, size)


class Masks(unittest.TestCase):
    def test_is_causal(self):
        for text, wanted in (("q8", False), ("q8 causal-tl", True), ("q8 causal-br", True), ("q4 k8 causal-tl", True),
                             ("q1 k8 causal-br", False), ("q4 k8 causal-br", None), ("q8 k4 causal-br", None)):
            self.assertIs(torch_rows.is_causal(torch_rows.parse("fwd " + text)), wanted, text)

    def refusal(self, text, backend):
        try:
            torch_sdpa.check_mask(torch_rows.parse("fwd " + text), backend)
        except torch_rows.Unsupported as reason:
            return str(reason)
        return None

    def test_lower_right(self):
        self.assertIsNone(self.refusal("q4 k8 causal-br", "flash"))
        self.assertIn("mask in memory", self.refusal("q4 k8 causal-br", "cudnn"))
        self.assertIn("NaN", self.refusal("q8 k4 causal-br", "flash"))
        for backend in torch_sdpa.BACKENDS:
            self.assertIsNone(self.refusal("q8 causal-br", backend))


class Refusals(unittest.TestCase):
    def test_status(self):
        for text, status in (("No available kernel. Aborting execution.", "unsupported"),
                             ("cuDNN Frontend error: [cudnn_frontend] Error: No valid execution plans built.",
                              "unsupported"),
                             ("CUDA out of memory. Tried to allocate 64.00 GiB.", "oom"),
                             ("CUDA error: an illegal memory access was encountered", "device-error")):
            self.assertEqual(torch_sdpa.status_of(RuntimeError(text)), status)

    def test_reason(self):
        error = RuntimeError("No available kernel. Aborting execution.\nmore")
        texts = ["Flash attention kernel not used because: (Triggered internally at sdp.cpp:1.)",
                 "Expected query to be of dtype {Half}.\n (Triggered internally at sdp.cpp:2.)",
                 "Expected query to be of dtype {Half}. (Triggered internally at sdp.cpp:2.)",
                 "CuDNN attention has been runtime disabled. (Triggered internally at sdp.cpp:3.)"]
        self.assertEqual(torch_sdpa.reason_of(error, texts), "Expected query to be of dtype {Half}.")
        self.assertEqual(torch_sdpa.reason_of(error, []), "No available kernel. Aborting execution.")


class Tensor:
    """In place of a tensor: only whether it is another one matters."""

    def clone(self):
        return Tensor()


class Turns(unittest.TestCase):
    def calls(self, text, copies):
        """What scaled_dot_product_attention gets of two rounds of calls, as (q, k, v, keyword arguments)."""
        taken = []

        def sdpa(q, k, v, **arguments):
            """Has enable_gqa."""
            taken.append((q, k, v, arguments))

        functional = types.SimpleNamespace(scaled_dot_product_attention=sdpa)
        torch = types.SimpleNamespace(nn=types.SimpleNamespace(functional=functional))
        call = torch_rows.make_turns(torch, torch_rows.parse(text), Tensor(), Tensor(), Tensor(), None, copies)
        for _ in range(2 * copies):
            call()
        return taken

    def test_each_call_takes_the_next_copy(self):
        taken = self.calls("fwd h32/8 q1 k8192 d128 f16", 3)
        for place, tensors in ((0, 1), (1, 3), (2, 3)):
            ids = [id(each[place]) for each in taken]
            self.assertEqual((len(set(ids)), ids[3:]), (tensors, ids[:3]))
        self.assertEqual(len({id(tensor) for _, k, v, _ in taken for tensor in (k, v)}), 6)
        self.assertEqual([each[3] for each in taken], [{"is_causal": False, "enable_gqa": True}] * 6)

    def test_without_copies(self):
        taken = self.calls("fwd h8 q4", 1)
        self.assertEqual(taken[0], taken[1])
        self.assertEqual(taken[0][3], {"is_causal": False})


class Event:
    """In place of torch.cuda.Event: a call takes two milliseconds."""

    calls = 0

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = Event.calls

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return 2.0 * (end.at - self.at)


class Times(unittest.TestCase):
    def call(self):
        Event.calls += 1

    def test_events(self):
        clock = torch_sdpa.Clock(types.SimpleNamespace(cuda=types.SimpleNamespace(Event=Event)), "cuda")
        Event.calls = 0
        self.assertEqual(clock.time_calls(self.call, 5), 2.0)
        self.assertEqual(Event.calls, 5)
        # Warm up for 20 ms (1 + 2 + 4 + 8 + 16 calls), then 3 samples of at least 30 ms.
        Event.calls = 0
        options = types.SimpleNamespace(batch_ms=30, samples=3)
        self.assertEqual(torch_rows.sample(clock.time_calls, self.call, options), ([2.0] * 3, 15))
        self.assertEqual(Event.calls, 31 + 3 * 15)

    def test_wall(self):
        Event.calls = 0
        self.assertGreater(torch_sdpa.Clock(None, "cpu").time_calls(self.call, 7), 0)
        self.assertEqual(Event.calls, 7)


class Rows(unittest.TestCase):
    def test_a_problem_that_is_refused_is_a_row(self):
        options = types.SimpleNamespace(sustained=0, copies=3, name="x", driver="y", device="cuda")
        row = torch_sdpa.run(None, "fwd  q8 lse", "flash", options)
        self.assertEqual(list(row)[:-1], torch_rows.COLUMNS)
        self.assertEqual((row["problem"], row["impl"], row["status"]), ("fwd q8 lse", "torch-flash", "unsupported"))
        self.assertIn("lse", row["reason"])
        self.assertEqual(row["copies"], 3)

    def test_times(self):
        row = {}
        torch_rows.set_times(row, torch_rows.parse("fwd q1000 d250"), [1.0, 2.0, 4.0], 7, "event")
        self.assertEqual((row["status"], row["median_ms"], row["min_ms"], row["clock"]), ("ok", 2.0, 1.0, "event"))
        self.assertEqual(row["launches"], 7)
        self.assertAlmostEqual(row["gflops"], 500)  # 1e9 operations in 2 ms
        self.assertAlmostEqual(row["spread"], 0.75)

    def test_without_torch(self):
        for script in ("torch_cpu.py", "torch_sdpa.py"):
            run = subprocess.run([sys.executable, "-c", NO_TORCH, str(PEERS / script), "fwd q8"], capture_output=True,
                                 text=True, check=False)
            self.assertEqual((run.returncode, json.loads(run.stdout)), (0, []), run.stderr)
            self.assertIn("cannot be imported", run.stderr)


if __name__ == "__main__":
    unittest.main()
