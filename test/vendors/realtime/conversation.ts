import type { WebSocket } from 'ws';
import { Ear } from '../stt/spoken-words.js';
import { KEY } from '../tts/speech-double.js';
import type { DoubleReply, RealtimeDouble } from './double.js';
import { type HeldItem, heldOf, placeBehind, Usage } from './items.js';
import { type ClientEvent, clientEvent, type ResponseParams, type Session } from './messages.js';
import { stepsOf } from './response-steps.js';

interface Response {
  id: string;
  metadata: object;
  inConversation: boolean;
  stop: () => void;
  output: HeldItem[];
}

type Of<T extends ClientEvent['type']> = Extract<ClientEvent, { type: T }>;

const BYTES_PER_MS = 48;
const SPEECH_MS = 60;

/** One connection's session. */
export class RealtimeConversation {
  readonly items: HeldItem[] = [];
  /** All that was ever said in responses of the conversation, however much of it was heard. */
  readonly truncations: { itemId: string; audioEndMs: number; audioMs: number }[] = [];
  readonly transcription: { language?: string; model: string }[] = [];
  readonly model: string;
  instructions = '';
  tools: string[] = [];
  voice: string | { id: string } | null = null;
  modalities: readonly ['audio' | 'text'] = ['audio'];
  /** It is used for more than reading aloud. */
  isConversation = false;
  readonly #double: RealtimeDouble;
  readonly #line: WebSocket;
  #session: Session | null = null;
  #ear = new Ear(24_000);
  #bytes = 0;
  #total = 0;
  #speech: { itemId: string } | null = null;
  #hasSpoken = false;
  #active: Response | null = null;
  readonly #aside = new Map<string, Response>();
  readonly #usage = new Usage();

  constructor(double: RealtimeDouble, line: WebSocket, model: string) {
    this.#double = double;
    this.#line = line;
    this.model = model;
    this.say({ type: 'session.created', session: { type: 'realtime', object: 'realtime.session', model } });
    line.on('close', () => {
      for (const response of [this.#active, ...this.#aside.values()]) response?.stop();
    });
    line.on('message', (data: Buffer) => this.#onMessage(data.toString('utf8')));
  }

  /** Says something of the server's, or of a test's own. */
  say(event: object): void {
    if (this.#line.readyState !== this.#line.OPEN) return;
    this.#line.send(JSON.stringify({ event_id: `event_${String(this.#double.next())}`, ...event }));
  }

  garbage(text = '{"type":'): void {
    this.#line.send(text);
  }

  drop(): void {
    this.#line.terminate();
  }

  /** The session's hour is over. */
  expire(): void {
    this.#error('session_expired', 'Your session hit the maximum duration of 60 minutes.');
    this.#line.close(1001, 'session expired');
  }

  #onMessage(text: string): void {
    const parsed = clientEvent.safeParse(JSON.parse(text));
    if (!parsed.success) {
      this.#double.violation(`no event of the protocol: ${text.slice(0, 300)}`);
      this.#error('invalid_value', parsed.error.message, (JSON.parse(text) as { event_id?: string }).event_id);
      return;
    }
    const event = parsed.data;
    this.#double.received.push(event);
    this.isConversation ||= event.type.startsWith('input_audio_buffer') || event.type.startsWith('conversation.item');
    this.#take(event);
    this.#double.changed();
  }

  #take(event: ClientEvent): void {
    if (this.#session === null && event.type !== 'session.update') {
      this.#double.violation(`${event.type} before the session was set up`);
    }
    switch (event.type) {
      case 'session.update':
        this.#update(event);
        return;
      case 'input_audio_buffer.append':
        this.#append(Buffer.from(event.audio, 'base64'));
        return;
      case 'input_audio_buffer.commit':
        this.#commit(event.event_id);
        return;
      case 'input_audio_buffer.clear':
        this.#clear();
        this.say({ type: 'input_audio_buffer.cleared' });
        return;
      case 'conversation.item.create':
        this.#create(event);
        return;
      case 'conversation.item.delete':
        this.#delete(event);
        return;
      case 'conversation.item.truncate':
        this.#truncate(event);
        return;
      case 'response.create':
        this.#respond(event.response ?? {}, event.event_id);
        return;
      case 'response.cancel':
        this.#cancel(event);
    }
  }

  #update({ session, event_id: cause }: Of<'session.update'>): void {
    const { voice } = session.audio?.output ?? {};
    if (voice !== undefined && this.voice !== null && voice !== this.voice && this.#hasSpoken) {
      this.#wrong('cannot_update_voice', 'Cannot update the voice once audio has been output', cause);
      return;
    }
    this.#session = { ...this.#session, ...session, audio: { ...this.#session?.audio, ...session.audio } };
    this.voice = voice ?? this.voice;
    this.instructions = session.instructions ?? this.instructions;
    this.modalities = session.output_modalities ?? this.modalities;
    if (session.tools !== undefined) this.tools = session.tools.map(({ name }) => name);
    const { transcription } = session.audio?.input ?? {};
    if (transcription != null) this.transcription.push(transcription);
    if (session.audio?.input !== undefined) this.isConversation = true;
    this.say({ type: 'session.updated', session: this.#session });
  }

  get #listens(): boolean {
    return this.transcription.length > 0;
  }

  #append(audio: Buffer): void {
    this.#bytes += audio.length;
    this.#total += audio.length;
    this.#ear.hear(audio);
    const vad = this.#session?.audio?.input?.turn_detection;
    if (vad != null) this.#detect(vad);
  }

  /** The server's own turn detection: `speech_started`, `speech_stopped`, a commit, and a response where it is wanted. */
  #detect(vad: NonNullable<NonNullable<NonNullable<Session['audio']>['input']>['turn_detection']>): void {
    const atMs = this.#total / BYTES_PER_MS;
    const silenceMs = vad.type === 'server_vad' ? (vad.silence_duration_ms ?? 500) : 300;
    const prefixMs = vad.type === 'server_vad' ? (vad.prefix_padding_ms ?? 300) : 300;
    const { quietMs, heardMs } = this.#ear;
    if (this.#speech === null && heardMs > SPEECH_MS && quietMs === 0) {
      this.#speech = { itemId: `item_${String(this.#double.next())}` };
      const audio_start_ms = Math.max(0, Math.round(atMs - SPEECH_MS - prefixMs));
      this.say({ type: 'input_audio_buffer.speech_started', audio_start_ms, item_id: this.#speech.itemId });
      if (vad.interrupt_response !== false) this.#active?.stop();
      if (vad.interrupt_response !== false) this.#end(this.#active, 'cancelled', 'turn_detected');
    } else if (this.#speech !== null && quietMs >= silenceMs) {
      const audio_end_ms = Math.round(atMs - quietMs);
      this.say({ type: 'input_audio_buffer.speech_stopped', audio_end_ms, item_id: this.#speech.itemId });
      const { itemId } = this.#speech;
      this.#speech = null;
      this.#commit(undefined, itemId);
      if (vad.create_response !== false) this.#respond({}, undefined);
    }
  }

  #commit(cause: string | undefined, itemId = `item_${String(this.#double.next())}`): void {
    const audioMs = this.#bytes / BYTES_PER_MS;
    if (audioMs < 100) {
      const had = `buffer only has ${audioMs.toFixed(2)}ms of audio.`;
      this.#wrong(
        'input_audio_buffer_commit_empty',
        `buffer too small. Expected at least 100ms of audio, but ${had}`,
        cause,
      );
      return;
    }
    const { hears } = this.#double;
    const text = hears === null ? this.#ear.words.map((word) => word.text).join(' ') : (hears.shift() ?? '');
    const previous = this.items.at(-1)?.id ?? null;
    const item: HeldItem = { id: itemId, kind: 'user audio', text, audioMs, isCut: false, callId: null, name: null };
    this.items.push(item);
    this.#clear();
    this.say({ type: 'input_audio_buffer.committed', previous_item_id: previous, item_id: itemId });
    this.#added(item, previous);
    if (this.#listens) setImmediate(() => this.#transcribe(item));
  }

  #transcribe({ id, text, audioMs }: HeldItem): void {
    const of = { item_id: id, content_index: 0 };
    const type = 'conversation.item.input_audio_transcription';
    if (this.#double.deaf) {
      this.say({
        type: `${type}.failed`,
        ...of,
        error: { type: 'transcription_error', code: 'audio_unintelligible', message: '' },
      });
      return;
    }
    for (const [index, word] of text.split(' ').entries()) {
      this.say({ type: `${type}.delta`, ...of, delta: index === 0 ? word : ` ${word}` });
    }
    const usage = { type: 'duration', seconds: audioMs / 1000 };
    this.say({ type: `${type}.completed`, ...of, transcript: text, usage });
  }

  #clear(): void {
    this.#ear = new Ear(24_000);
    this.#bytes = 0;
  }

  #create({ item, previous_item_id: before, event_id: cause }: Of<'conversation.item.create'>): void {
    const id = item.id ?? `item_${String(this.#double.next())}`;
    if (this.items.some((held) => held.id === id)) {
      this.#wrong('item_create_duplicate_id', `Error adding item: an item with ID '${id}' already exists.`, cause);
      return;
    }
    const place = before === undefined ? this.items.length : placeBehind(this.items, before);
    if (place === null) {
      this.#wrong(
        'item_create_invalid_previous',
        `Error adding item: the previous item '${String(before)}' does not exist.`,
        cause,
      );
      return;
    }
    const held = heldOf(id, item);
    if (held.kind === 'result' && !this.items.some(({ kind, callId }) => kind === 'call' && callId === held.callId)) {
      this.#wrong('invalid_tool_call_id', `Tool call ID '${String(held.callId)}' not found in conversation.`, cause);
      return;
    }
    const previous = this.items[place - 1]?.id ?? null;
    this.items.splice(place, 0, held);
    this.#added(held, previous);
  }

  #added({ id, kind }: HeldItem, previous: string | null): void {
    const item = { id, object: 'realtime.item', type: kind === 'call' ? 'function_call' : 'message' };
    if (this.#double.beta) this.say({ type: 'conversation.item.created', previous_item_id: previous, item });
    else {
      this.say({ type: 'conversation.item.added', previous_item_id: previous, item });
      this.say({ type: 'conversation.item.done', previous_item_id: previous, item });
    }
  }

  #delete({ item_id: id, event_id: cause }: Of<'conversation.item.delete'>): void {
    const index = this.items.findIndex((held) => held.id === id);
    if (index < 0) {
      this.#wrong(
        'item_delete_invalid_item_id',
        `Error deleting item: the item with id '${id}' does not exist.`,
        cause,
      );
      return;
    }
    this.items.splice(index, 1);
    this.say({ type: 'conversation.item.deleted', item_id: id });
  }

  #truncate({ item_id: id, audio_end_ms: audioEndMs, event_id: cause }: Of<'conversation.item.truncate'>): void {
    const item = this.items.find((held) => held.id === id);
    if (item?.kind !== 'agent audio') {
      this.#wrong('item_truncate_invalid_item_id', 'Only model output audio messages can be truncated', cause);
      return;
    }
    if (audioEndMs > item.audioMs) {
      const length = `Audio content of ${String(Math.floor(item.audioMs))}ms is already shorter than ${String(audioEndMs)}ms`;
      this.#wrong('invalid_value', length, cause);
      return;
    }
    this.truncations.push({ itemId: id, audioEndMs, audioMs: item.audioMs });
    Object.assign(item, { audioMs: audioEndMs, isCut: true, text: '' });
    this.say({ type: 'conversation.item.truncated', item_id: id, content_index: 0, audio_end_ms: audioEndMs });
  }

  #respond(params: ResponseParams, cause: string | undefined): void {
    const inConversation = params.conversation !== 'none';
    if (inConversation && this.#active !== null) {
      const message = `Conversation already has an active response in progress: ${this.#active.id}.`;
      this.#wrong('conversation_already_has_active_response', message, cause);
      return;
    }
    const read = params.input?.[0];
    const reply: DoubleReply =
      read?.type === 'message'
        ? { say: read.content[0].text }
        : this.#double.brain({ instructions: this.instructions, items: [...this.items], tools: this.tools });
    if (inConversation) {
      this.isConversation = true;
      this.#double.responses++;
    } else this.#double.spoken.push(reply.say ?? '');
    this.#double.changed();
    if (this.#double.isDead()) {
      this.#line.terminate();
      return;
    }
    const id = `resp_${String(this.#double.next())}`;
    const response: Response = {
      id,
      metadata: params.metadata ?? {},
      inConversation,
      stop: () => undefined,
      output: [],
    };
    if (inConversation) this.#active = response;
    else this.#aside.set(id, response);
    const conversation_id = inConversation ? 'conv_1' : null;
    this.say({
      type: 'response.created',
      response: { id, status: 'in_progress', metadata: response.metadata, conversation_id },
    });
    if (reply.fail !== undefined) {
      this.#end(response, 'failed', undefined, reply.fail);
      return;
    }
    const steps = stepsOf(reply, {
      responseId: id,
      beta: this.#double.beta,
      isText: this.modalities[0] === 'text',
      next: () => this.#double.next(),
      say: (event) => this.say(event),
      output: response.output,
      begun: (item) => {
        if (inConversation) this.items.push(item);
      },
      onAudio: () => (this.#hasSpoken = true),
    });
    response.stop = this.#double.pour(
      steps,
      {
        send: (step) => step(),
        drop: () => this.#line.terminate(),
        error: () =>
          this.#end(response, 'failed', undefined, {
            type: 'server_error',
            code: 'server_error',
            message: `with ${KEY}`,
          }),
        garbage: () => this.garbage(),
      },
      () => this.#end(response, reply.incomplete === undefined ? 'completed' : 'incomplete', reply.incomplete),
    );
  }

  #cancel({ response_id: id, event_id: cause }: Of<'response.cancel'>): void {
    const response = id === undefined || id === this.#active?.id ? this.#active : (this.#aside.get(id) ?? null);
    if (response === null) {
      this.#error('response_cancel_not_active', 'Cancellation failed: no active response found', cause);
      return;
    }
    response.stop();
    this.#double.cancelled++;
    this.#end(response, 'cancelled', 'client_cancelled');
  }

  #end(response: Response | null, status: string, reason?: string, error?: object): void {
    if (response === null) return;
    if (response === this.#active) this.#active = null;
    else if (!this.#aside.delete(response.id)) return;
    const { id, metadata } = response;
    const status_details =
      status === 'completed'
        ? null
        : { type: status, ...(reason !== undefined && { reason }), ...(error && { error }) };
    const output = response.output.map((item) => ({
      id: item.id,
      type: item.kind === 'call' ? 'function_call' : 'message',
    }));
    const usage = response.inConversation ? this.#usage.of(this.items, response.output, this.instructions) : undefined;
    this.say({
      type: 'response.done',
      response: { id, object: 'realtime.response', status, status_details, metadata, output, ...(usage && { usage }) },
    });
    const limit = { name: 'tokens', limit: 50_000, remaining: 49_000, reset_seconds: 1 };
    this.say({ type: 'rate_limits.updated', rate_limits: [limit] });
    this.#double.changed();
  }

  /** The client should have known better. */
  #wrong(code: string, message: string, cause: string | undefined): void {
    this.#double.violation(`${code}: ${message}`);
    this.#error(code, message, cause);
  }

  #error(code: string, message: string, cause?: string): void {
    this.say({
      type: 'error',
      error: { type: 'invalid_request_error', code, message, param: null, event_id: cause ?? null },
    });
  }
}
