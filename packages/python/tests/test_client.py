"""
The client with a daemon and with servers that fail, with and without asyncio. `test/packages/python.test.ts` of parley
starts the daemon and runs this file.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import inspect
import io
import json
import keyword
import os
import re
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional
from urllib.request import urlopen

import httpx

from parley_voice import (
    AsyncParley,
    Pages,
    Parley,
    ParleyApiError,
    ParleyConnectionError,
    ParleyWebhookError,
    errors,
    messages_of,
    verify_webhook,
)
from parley_voice._messages import CallMessage
from parley_voice._requests import EventParser, pause_s, retry_after_of
from parley_voice.models import (
    AgentConfig,
    CallHistory,
    CallHistoryCostBreakdownLlm,
    LiveCall,
    LLM,
    StatusEvent,
)

URL = os.environ["PARLEY_URL"]
KEY = os.environ["PARLEY_API_KEY"]
SECRET = os.environ["PARLEY_WEBHOOK_SECRET"]
#: Answers with the messages that the daemon's webhook has received.
INBOX = os.environ["PARLEY_WEBHOOK_INBOX"]
#: The operations of the API, as `scripts/client-operations.mjs` reads them.
OPERATIONS = os.environ["PARLEY_OPERATIONS"]
ANN = "+12025550101"


class Both:
    """A test with and without asyncio. Nothing is encrypted, so the slow reading of certificates is left out."""

    is_async: bool

    def ask(self, make: Callable[[Any], Any], url: str = URL, key: Optional[str] = KEY, **options: Any) -> Any:
        """What a method answers; the list of what it yields."""
        if self.is_async:
            return asyncio.run(self._ask(make, url, key, **options))
        with httpx.Client(verify=False) as client, Parley(url, key, http_client=client, **options) as parley:
            answer = make(parley)
            return list(answer) if isinstance(answer, Pages) or inspect.isgenerator(answer) else answer

    async def _ask(self, make: Callable[[Any], Any], url: str, key: Optional[str], **options: Any) -> Any:
        async with httpx.AsyncClient(verify=False) as client:
            async with AsyncParley(url, key, http_client=client, **options) as parley:
                answer = make(parley)
                return await answer if inspect.isawaitable(answer) else [each async for each in answer]


class WithDaemon(Both):
    def test_agents_are_made_changed_read_and_deleted(self: Any) -> None:
        config = AgentConfig(prompt="You sell flowers.", llm=LLM(model="scripted"))
        made = self.ask(lambda parley: parley.agents.create(name="Florist", config=config))
        read = self.ask(lambda parley: parley.agents.get(made.id))
        self.assertEqual((read.name, read.config.prompt, read.config.llm.model), ("Florist", config.prompt, "scripted"))
        read.config.first_message = "Good day."
        self.ask(lambda parley: parley.agents.update(made.id, name="The florist", config=read.config))
        self.assertEqual(self.ask(lambda parley: parley.agents.get(made.id)).config.first_message, "Good day.")
        self.assertIn("The florist", [agent.name for agent in self.ask(lambda parley: parley.agents.list())])
        versions = self.ask(lambda parley: parley.agents.list_versions(made.id, limit=1))
        self.assertEqual([each.version for each in versions], [2, 1])
        self.assertTrue(self.ask(lambda parley: parley.agents.delete(made.id)).success)
        with self.assertRaises(errors.NotFoundError):
            self.ask(lambda parley: parley.agents.get(made.id))

    def test_an_answer_comes_as_a_stream_and_calls_in_pages(self: Any) -> None:
        agent = self.ask(
            lambda parley: parley.agents.create(
                name="Baker",
                config={"llm": {"model": "scripted"}},
                script={"rules": [{"when": "bread", "say": "We have bread."}]},
            )
        )
        for _ in range(3):
            parts = self.ask(
                lambda parley: parley.chat.stream(
                    agent={"agent_id": agent.id},
                    messages=[{"role": "user", "content": "Do you have bread?"}],
                    end_of_session=True,
                )
            )
            self.assertEqual("".join(part.choices[0].delta.content or "" for part in parts), "We have bread.")
        calls = self.ask(lambda parley: parley.call_logs.list(limit=2, agent_id=agent.id))
        ids = [call.session_id for call in calls]
        self.assertEqual(len(set(ids)), 3)
        pages = self.ask(lambda parley: parley.call_logs.list(limit=2, agent_id=agent.id).pages())
        self.assertEqual([len(page.histories) for page in pages], [2, 1])
        first = self.ask(lambda parley: parley.call_logs.list(limit=2, agent_id=agent.id).page())
        self.assertEqual([call.session_id for call in first.histories], ids[:2])
        messages = messages_of(calls[0])
        self.assertEqual([message.role for message in messages], ["user", "assistant"])
        self.assertEqual(messages[0].content, "Do you have bread?")

    def test_files_are_uploaded_and_texts_are_read(self: Any) -> None:
        stored = self.ask(lambda parley: parley.knowledge.upload_file(("menu.txt", b"Rye bread costs 4 dollars.")))
        made = self.ask(lambda parley: parley.knowledge.create_file(object_key=stored.object_key, name="menu.txt"))
        files = self.ask(lambda parley: parley.knowledge.list_files())
        self.assertEqual([each.size for each in files if each.id == made.id], [26])
        uploaded = self.ask(lambda parley: parley.knowledge.upload_file(Path(__file__)))
        self.assertTrue(uploaded.object_key)
        self.assertIn("parley_", self.ask(lambda parley: parley.operation.get_metrics()))

    def test_errors_have_their_code_their_place_and_the_id_of_the_request(self: Any) -> None:
        with self.assertRaises(errors.ConfigInvalidError) as refused:
            self.ask(lambda parley: parley.agents.create(name="", config={"vad_threshold": 7}))
        error = refused.exception
        self.assertEqual((error.status, error.code), (422, "CONFIG_INVALID"))
        places = [".".join(map(str, fault.loc)) for fault in error.faults]
        self.assertEqual(places, ["body.name", "body.config.vad_threshold"])
        self.assertRegex(error.request_id, r"\S")
        self.assertIn("body.config.vad_threshold: ", str(error))
        with self.assertRaises(errors.AuthRequiredError):
            self.ask(lambda parley: parley.agents.list(), key=None)
        self.assertEqual(self.ask(lambda parley: parley.operation.get_health(), key=None).status, "ok")


class SyncWithDaemon(WithDaemon, unittest.TestCase):
    is_async = False


class AsyncWithDaemon(WithDaemon, unittest.TestCase):
    is_async = True

    def test_a_call_is_placed_watched_ended_heard_and_reported(self) -> None:
        asyncio.run(self._call())

    async def _call(self) -> None:
        statuses: List[str] = []
        async with AsyncParley(URL, KEY) as parley:
            phone = await parley.phones.purchase(country="US", area_code="415")
            await parley.phones.set_agent(phone.id, agent_id="baker")
            kept = {"call_settings": {"enable_recording": True}}
            await parley.phones.set_agent_config_override(phone.id, agent_config_override=kept)
            ids = await parley.calls.start(from_phone=phone.id, to_phone=ANN, metadata={"order": 7})
            live = await parley.calls.list_live_calls()
            self.assertIn(ids.session_id, [call.session_id for call in live.calls])
            async for event in parley.events.watch_call(ids.session_id):
                if isinstance(event.data, StatusEvent):
                    statuses.append(event.data.call_status)
                    if event.data.call_status == "in-progress":
                        await parley.calls.terminate(ids.session_id)
            self.assertEqual((statuses[0], statuses[-1]), ("registered", "api-ended"))
            with urlopen(f"{INBOX}/{ids.session_id}", timeout=20) as answer:
                received = json.load(answer)
            messages = [verify_webhook(each["body"], each["headers"], SECRET) for each in received]
            self.assertEqual([message.type for message in messages], ["call.started", "call.ended"])
            self.assertEqual([message.data.metadata for message in messages], [{"order": 7}] * 2)
            call = await parley.call_logs.get(ids.session_id)
            self.assertEqual((call.call_id, call.call_status), (ids.call_id, "api-ended"))
            self.assertEqual((await parley.call_logs.get_recording(ids.session_id))[:4], b"RIFF")


class Fake:
    """A server whose answers a test decides, one for each request."""

    def __init__(self) -> None:
        self.seen: List[Dict[str, Any]] = []
        self._answers: List[Callable[[BaseHTTPRequestHandler], None]] = []
        self._is_over = threading.Event()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                fake.seen.append({"path": self.path, "headers": dict(self.headers.items()), "body": body})
                self.close_connection = True
                fake._answers.pop(0)(self)

            do_POST = do_PUT = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/base/"

    def answer(self, status: int, body: Any = None, **headers: str) -> Fake:
        text = body if isinstance(body, str) else json.dumps({} if body is None else body)

        def reply(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            for name, value in {"content_length": str(len(text.encode())), "connection": "close", **headers}.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(text.encode())

        self._answers.append(reply)
        return self

    def break_off(self, text: str = "") -> Fake:
        """Breaks the connection, behind the given part of a stream if any."""

        def reply(handler: BaseHTTPRequestHandler) -> None:
            if text != "":
                handler.send_response(200)
                handler.send_header("transfer-encoding", "chunked")
                handler.end_headers()
                content = text.encode()
                handler.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")

        self._answers.append(reply)
        return self

    def hang(self) -> Fake:
        def reply(_handler: BaseHTTPRequestHandler) -> None:
            self._is_over.wait(20)

        self._answers.append(reply)
        return self

    def close(self) -> None:
        self._is_over.set()
        self._server.shutdown()
        self._server.server_close()

    def sent(self, name: str) -> List[Optional[str]]:
        """A header of each request."""
        return [{key.lower(): value for key, value in each["headers"].items()}.get(name) for each in self.seen]


def refusal(code: str) -> Dict[str, str]:
    return {"detail": "No.", "code": code, "request_id": "r1"}


class WithFailures(Both):
    def fake(self: Any) -> Fake:
        fake = Fake()
        self.addCleanup(fake.close)
        return fake

    def asked(self, fake: Fake, make: Callable[[Any], Any], **options: Any) -> Any:
        return self.ask(make, fake.url, "k", **options)

    def test_what_may_pass_is_asked_again_after_the_time_that_the_answer_names(self: Any) -> None:
        fake = self.fake().answer(429, refusal("RATE_LIMITED"), retry_after="0")
        fake.answer(503, refusal("SESSIONS_FULL"), retry_after="0").answer(200, [])
        self.assertEqual(self.asked(fake, lambda parley: parley.agents.list()), [])
        self.assertEqual([each["path"] for each in fake.seen], ["/base/agents"] * 3)
        self.assertEqual(fake.sent("authorization"), ["Bearer k"] * 3)

    def test_it_gives_up_after_max_retries_and_at_once_if_the_wait_is_long_or_nothing_would_change(self: Any) -> None:
        again = self.fake().answer(429, refusal("RATE_LIMITED"), retry_after="0")
        again.answer(429, refusal("RATE_LIMITED"), retry_after="0")
        with self.assertRaises(errors.RateLimitedError):
            self.asked(again, lambda parley: parley.agents.list(), max_retries=1)
        self.assertEqual(len(again.seen), 2)
        late = self.fake().answer(429, refusal("LIMIT_MINUTES_PER_DAY"), retry_after="3600")
        with self.assertRaises(errors.LimitMinutesPerDayError) as refused:
            self.asked(late, lambda parley: parley.agents.list())
        self.assertEqual((refused.exception.retry_after, refused.exception.request_id), (3600.0, "r1"))
        wrong = self.fake().answer(409, refusal("AGENT_DISABLED"))
        with self.assertRaises(errors.AgentDisabledError):
            self.asked(wrong, lambda parley: parley.agents.list())
        proxy = self.fake().answer(502, "<h1>Bad gateway</h1>")
        with self.assertRaises(ParleyApiError) as broken:
            self.asked(proxy, lambda parley: parley.with_options(max_retries=0).agents.list())
        error = broken.exception
        self.assertEqual((error.code, error.detail, error.request_id), ("HTTP_502", "<h1>Bad gateway</h1>", None))
        portal = self.fake().answer(200, "<h1>Welcome</h1>")
        with self.assertRaisesRegex(ParleyConnectionError, "no JSON"):
            self.asked(portal, lambda parley: parley.agents.list(), max_retries=0)

    def test_a_request_with_an_effect_is_sent_twice_only_under_a_key_that_makes_it_one(self: Any) -> None:
        fake = self.fake().break_off()
        with self.assertRaises(ParleyConnectionError):
            self.asked(fake, lambda parley: parley.agents.create(name="A", config={}))
        self.assertEqual(len(fake.seen), 1)
        call = self.fake().answer(502, refusal("CARRIER_SILENT"), retry_after="0").answer(200, {"session_id": "s"})
        phones = {"from_phone": "+12025550100", "to_phone": "+12025550123"}
        self.assertEqual(self.asked(call, lambda parley: parley.calls.start(**phones)).session_id, "s")
        first, second = call.sent("idempotency-key")
        self.assertRegex(first, r"^[0-9a-f]{32}$")
        self.assertEqual(first, second)
        own = self.fake().answer(200)
        self.asked(
            own,
            lambda parley: parley.with_options(headers={"x-trace": "1"}).calls.start(**phones, idempotency_key="7"),
        )
        self.assertEqual((own.sent("idempotency-key"), own.sent("x-trace")), (["7"], ["1"]))
        self.assertEqual(json.loads(own.seen[0]["body"]), phones)

    def test_a_request_has_a_deadline(self: Any) -> None:
        fake = self.fake().hang()
        with self.assertRaises(ParleyConnectionError) as late:
            self.asked(fake, lambda parley: parley.with_options(timeout=0.02, max_retries=0).agents.list())
        self.assertTrue(late.exception.is_timeout)
        with self.assertRaisesRegex(ValueError, "base_url is the daemon's address"):
            self.ask(lambda parley: parley.agents.list(), "calls.example")

    def test_paths_and_queries_are_escaped_and_null_differs_from_nothing(self: Any) -> None:
        fake = self.fake().answer(200).answer(200).answer(200, {"histories": [], "next_cursor": 0})
        self.asked(fake, lambda parley: parley.phones.get("+1/..?x"))
        self.asked(fake, lambda parley: parley.agents.update("a", script=None, config={"llm": None}))
        self.asked(fake, lambda parley: parley.call_logs.list(phone_number="+1 2", limit=3))
        paths = [each["path"] for each in fake.seen]
        self.assertEqual(paths[0], "/base/phones/%2B1%2F..%3Fx")
        self.assertRegex(paths[2], r"^/base/call-logs\?limit=3&phone_number=%2B1(\+|%20)2$")
        self.assertEqual(json.loads(fake.seen[1]["body"]), {"script": None, "config": {"llm": None}})

    def test_recordings_are_bytes_also_from_elsewhere(self: Any) -> None:
        fake = self.fake().answer(302, location="/store/1.wav").answer(200, "RIFF")
        self.assertEqual(self.asked(fake, lambda parley: parley.call_logs.get_recording("s")), b"RIFF")
        self.assertEqual([each["path"] for each in fake.seen], ["/base/call-logs/s/recording", "/store/1.wav"])

    def test_a_stream_that_breaks_off_goes_on_behind_its_last_event(self: Any) -> None:
        def status(ended: bool) -> str:
            return json.dumps({"session_id": "s", "ended": ended})

        fake = self.fake().break_off(f"id: 7\nevent: status\ndata: {status(False)}\n\n")
        fake.answer(503, refusal("DAEMON_DRAINING"), retry_after="0")
        fake.answer(200, f": ping\n\nid: 8\r\nevent: status\r\ndata: {status(True)}\r\n\r\nid: 9\ndata: {{}}\n\n")
        events = self.asked(fake, lambda parley: parley.events.watch_call("s"))
        self.assertEqual(
            [(each.event, each.id, each.data.ended) for each in events], [("status", "7", False), ("status", "8", True)]
        )
        self.assertEqual(fake.sent("last-event-id"), [None, "7", "7"])

    def test_a_stream_is_over_when_what_it_tells_of_is_deleted_and_fails_when_it_was_never_there(self: Any) -> None:
        gone = self.fake().answer(200, 'event: progress\ndata: {"status": "started"}\n\n')
        gone.answer(404, refusal("NOT_FOUND"))
        progress = self.asked(gone, lambda parley: parley.campaigns.watch("c"))
        self.assertEqual([each.status for each in progress], ["started"])
        none = self.fake().answer(404, refusal("NOT_FOUND"))
        with self.assertRaises(errors.NotFoundError):
            self.asked(none, lambda parley: parley.campaigns.watch("c"))
        lost = self.fake().break_off()
        with self.assertRaises(ParleyConnectionError):
            self.asked(lost, lambda parley: parley.campaigns.watch("c"), max_retries=0)

    def test_an_answer_that_fails_in_the_middle_is_an_error(self: Any) -> None:
        chunk = 'data: {"choices": [{"delta": {"content": "We"}}]}\n\n'
        failed = self.fake().answer(200, f'{chunk}data: {{"error": {{"message": "m", "code": "PROVIDER_FAILED"}}}}\n\n')
        with self.assertRaises(errors.ProviderFailedError) as refused:
            self.asked(failed, lambda parley: parley.chat.stream(agent={}, messages=[]))
        self.assertEqual(refused.exception.status, 200)
        cut = self.fake().break_off(chunk)
        with self.assertRaises(ParleyConnectionError):
            self.asked(cut, lambda parley: parley.chat.stream(agent={}, messages=[]))
        whole = self.fake().answer(200, f"{chunk}data: [DONE]\n\ndata: x\n\n")
        parts = self.asked(whole, lambda parley: parley.chat.stream(agent={}, messages=[]))
        self.assertEqual([part.choices[0].delta.content for part in parts], ["We"])


class SyncWithFailures(WithFailures, unittest.TestCase):
    is_async = False


class AsyncWithFailures(WithFailures, unittest.TestCase):
    is_async = True


class EachOperation(unittest.TestCase):
    def setUp(self) -> None:
        self.operations = json.loads(Path(OPERATIONS).read_text())
        self.asked: List[str] = []

    def reply(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(f"{request.method} {request.url.raw_path.decode().partition('?')[0]}")
        return httpx.Response(404, json={})

    def tearDown(self) -> None:
        wanted = [f"{each['verb']} " + re.sub(r"\{\w+\}", "x", each["path"]) for each in self.operations]
        self.assertEqual(self.asked, wanted)

    def test_asks_for_its_path(self) -> None:
        with httpx.Client(transport=httpx.MockTransport(self.reply)) as client:
            parley = Parley("http://parley", http_client=client)
            for operation in self.operations:
                with self.subTest(operation["id"]), self.assertRaises(ParleyApiError):
                    list(called(parley, operation))

    def test_asks_for_its_path_with_asyncio(self) -> None:
        async def ask_all() -> None:
            async with httpx.AsyncClient(transport=httpx.MockTransport(self.reply)) as client:
                parley = AsyncParley("http://parley", http_client=client)
                for operation in self.operations:
                    with self.subTest(operation["id"]), self.assertRaises(ParleyApiError):
                        answer = called(parley, operation)
                        await answer if inspect.isawaitable(answer) else [each async for each in answer]

        asyncio.run(ask_all())


def called(parley: Any, operation: Dict[str, Any]) -> Any:
    """Calls the method of an operation with the arguments that it must have."""
    name = operation["name"] + ("_" if keyword.iskeyword(operation["name"]) else "")
    method = getattr(getattr(parley, operation["resource"]), name)
    needed = [each for each in inspect.signature(method).parameters.values() if each.default is each.empty]
    named = {each.name: "x" for each in needed if each.kind is each.KEYWORD_ONLY}
    values: List[Any] = ["x"] * len(operation["params"])
    if operation["isUpload"]:
        values.append(("x", b""))
    elif len(needed) - len(named) > len(values):
        values.append([])  # A body that is a list.
    return method(*values, **named)


class Rules(unittest.TestCase):
    def test_waits_double_up_to_30_s_and_half_of_them_is_chance(self) -> None:
        self.assertEqual([pause_s(tries, None, 1) for tries in (1, 2, 3, 9)], [0.5, 1, 2, 30])
        self.assertEqual((pause_s(1, None, 0), pause_s(1, 1.5, 0.5), pause_s(1, 60, 0)), (0.25, 1.5, 30))

    def test_the_time_to_wait_is_seconds_or_a_date(self) -> None:
        date = "Tue, 24 Nov 2026 12:00:00 GMT"
        times = [retry_after_of(each, 1_795_521_590) for each in ("7", date, "soon", None)]
        self.assertEqual(times, [7, 10, None, None])

    def test_events_are_read_in_any_pieces(self) -> None:
        content = "\ufeffid: 1\r\ndata: ü\r\rdata: a\ndata:b\nevent: x\n\nignored\ndata: none".encode()
        for size in range(1, len(content)):
            parser = EventParser()
            pieces = [content[at : at + size] for at in range(0, len(content), size)]
            events = [event for piece in pieces for event in parser.feed(piece)]
            read = [(each.event, each.data, each.id) for each in events]
            self.assertEqual(read, [("message", "ü", "1"), ("x", "a\nb", None)])


class Models(unittest.TestCase):
    def test_members_that_are_not_known_stay_and_go_back(self) -> None:
        data = {"prompt": "Hi", "tools": [], "llm": {"model": "m", "of_2030": {"a": 1}}, "new": [1]}
        config = AgentConfig.from_dict(data)
        self.assertEqual((config.llm and config.llm.model, vars(config)["new"], config.voice), ("m", [1], None))
        self.assertEqual(config.to_dict(), data)
        self.assertEqual(repr(AgentConfig(prompt="Hi")), "AgentConfig(prompt='Hi')")
        self.assertEqual(AgentConfig(prompt="Hi"), AgentConfig.from_dict({"prompt": "Hi"}))

    def test_members_with_names_that_python_keeps_for_itself_have_a_line_behind(self) -> None:
        call = LiveCall.from_dict({"from": "+1", "session_id": "s"})
        self.assertEqual((call.from_, call.to_dict()["from"]), ("+1", "+1"))

    def test_members_that_must_be_there_are_sent_as_null(self) -> None:
        call = StatusEvent.from_dict({"session_id": "s"})
        self.assertIn("error_message", call.to_dict())
        self.assertNotIn("time", call.to_dict())

    def test_one_of_several_models_is_told_by_its_constant_or_its_members(self) -> None:
        call = CallHistory.from_dict({"cost_breakdown": [{"type": "llm", "prompt_tokens": 3}, {"type": "new"}]})
        self.assertIsInstance(call.cost_breakdown[0], CallHistoryCostBreakdownLlm)
        self.assertEqual(call.cost_breakdown[1], {"type": "new"})
        config = AgentConfig.from_dict({"custom_llm_websocket": {"url": "wss://a.test"}})
        self.assertEqual(getattr(config.custom_llm_websocket, "url"), "wss://a.test")
        config = AgentConfig.from_dict({"custom_llm_websocket": "wss://a.test"})
        self.assertEqual(config.custom_llm_websocket, "wss://a.test")


class Webhooks(unittest.TestCase):
    body = json.dumps({"type": "call.ended", "timestamp": "2026-11-24T12:00:00.000Z", "data": {"session_id": "s"}})
    now = 1_795_521_600

    def headers(self, secret: str = SECRET) -> Dict[str, str]:
        signed = f"msg_1.{self.now}.{self.body}".encode()
        digest = hmac.new(base64.b64decode(secret[6:]), signed, hashlib.sha256).digest()
        return {
            "Webhook-Id": "msg_1",
            "webhook-timestamp": str(self.now),
            "WEBHOOK-SIGNATURE": f"v1,eA== v2,x v1,{base64.b64encode(digest).decode()}",
        }

    def test_a_signed_message_is_read_from_any_kind_of_headers(self) -> None:
        message = verify_webhook(self.body, self.headers(), ["whsec_b2xk", SECRET], now=self.now)
        self.assertIsInstance(message, CallMessage)
        self.assertEqual((message.type, message.data.session_id), ("call.ended", "s"))
        other = verify_webhook(self.body.encode(), httpx.Headers(self.headers()), SECRET, now=self.now + 300)
        self.assertEqual(other, message)
        history: CallHistory = verify_webhook(self.body, self.headers(), SECRET, CallHistory, now=self.now)
        self.assertIsInstance(history, CallHistory)

    def test_what_is_not_of_the_daemon_is_refused(self) -> None:
        headers = self.headers()
        wrong: List[Any] = [
            (self.body + " ", headers, SECRET, 0, "No signature"),
            (self.body, headers, "whsec_b3RoZXI=", 0, "No signature"),
            (self.body, headers, SECRET, 301, "not within 300 s"),
            (self.body, headers, SECRET, -301, "not within 300 s"),
            (self.body, {"webhook-id": "1", "webhook-timestamp": "1"}, SECRET, 0, "no webhook-signature"),
            (self.body, {**headers, "WEBHOOK-SIGNATURE": "v1,%ü"}, SECRET, 0, "No signature"),
            (self.body, {**headers, "webhook-timestamp": "NaN"}, SECRET, 0, "not within"),
        ]
        for body, each, secret, late, why in wrong:
            with self.subTest(why), self.assertRaisesRegex(ParleyWebhookError, why):
                verify_webhook(body, each, secret, now=self.now + late)
        with self.assertRaisesRegex(ValueError, "whsec_"):
            verify_webhook(self.body, headers, "whsec_%", now=self.now)


class Examples(unittest.TestCase):
    """The examples of README.md, with this daemon's address."""

    OUTPUT = [
        r"^\S+ You sell flowers\.\n$",
        r"^We have bread\.$",
        r"^registered\n(.+\n)*in-progress\n(.+\n)*agent Hello\.\n(.+\n)*api-ended\n$",
        r"^\d+ calls on the first page\n(.+\n)*user Do you have bread\?\n",
        r"^NOT_FOUND 404 \S+\n\[?.*vad_threshold",
        r"^$",
    ]

    def test_each_example_does_what_it_shows(self) -> None:
        bread = [{"role": "user", "content": "Do you have bread?"}]
        with Parley(URL, KEY) as parley:
            list(parley.chat.stream(agent={"agent_id": "baker"}, messages=bread, end_of_session=True))
        readme = (Path(__file__).parent.parent / "README.md").read_text()
        examples = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        self.assertEqual(len(examples), len(self.OUTPUT))
        for code, output in zip(examples, self.OUTPUT):
            with self.subTest(code):
                text, scope = self._run(code)
                self.assertRegex(text, re.compile(output, re.DOTALL if "NOT_FOUND" in output else 0))
        webhooks = Webhooks()
        # It is of another time.
        self.assertEqual(scope["on_webhook"](webhooks.body.encode(), webhooks.headers(), SECRET), 401)

    def _run(self, code: str) -> Any:
        self.assertTrue("http://127.0.0.1:8080" in code or "verify_webhook" in code)
        scope: Dict[str, Any] = {"__name__": "example"}
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(code.replace("http://127.0.0.1:8080", URL), "README.md", "exec"), scope)
        return output.getvalue(), scope


if __name__ == "__main__":
    unittest.main()
