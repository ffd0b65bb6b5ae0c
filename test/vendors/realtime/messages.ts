import * as z from 'zod';

/**
 * What a client may send to OpenAI's Realtime API, as far as conversations and reading aloud go, checked to the last
 * member. From developers.openai.com/api/reference/resources/realtime/client-events and the types of the official SDK
 * `openai` 7.57.0 (resources/realtime/realtime.d.ts), both read on 2026-11-22. Members of the protocol that nobody here
 * uses are left out on purpose: sending them shows up.
 */
const eventId = { event_id: z.string().max(512).exactOptional() };
const audioFormat = z.strictObject({ type: z.literal('audio/pcm'), rate: z.literal(24_000) });
export const VOICES = [
  'alloy',
  'ash',
  'ballad',
  'coral',
  'echo',
  'sage',
  'shimmer',
  'verse',
  'marin',
  'cedar',
] as const;
const modalities = z.tuple([z.enum(['audio', 'text'])]);
const tool = z.strictObject({
  type: z.literal('function'),
  name: z.string().regex(/^[\w-]{1,64}$/),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()),
});
const turnDetection = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('server_vad'),
    create_response: z.boolean().exactOptional(),
    interrupt_response: z.boolean().exactOptional(),
    prefix_padding_ms: z.number().exactOptional(),
    silence_duration_ms: z.number().exactOptional(),
    threshold: z.number().min(0).max(1).exactOptional(),
  }),
  z.strictObject({
    type: z.literal('semantic_vad'),
    create_response: z.boolean().exactOptional(),
    interrupt_response: z.boolean().exactOptional(),
    eagerness: z.enum(['low', 'medium', 'high', 'auto']).exactOptional(),
  }),
]);

const sessionSchema = z.strictObject({
  type: z.literal('realtime'),
  output_modalities: modalities.exactOptional(),
  instructions: z.string().exactOptional(),
  tools: z.array(tool).exactOptional(),
  tool_choice: z.literal('auto').exactOptional(),
  audio: z
    .strictObject({
      input: z
        .strictObject({
          format: audioFormat.exactOptional(),
          turn_detection: turnDetection.nullable().exactOptional(),
          transcription: z
            .strictObject({
              model: z.enum([
                'gpt-transcribe',
                'gpt-live-transcribe',
                'gpt-4o-transcribe',
                'gpt-4o-mini-transcribe',
                'whisper-1',
              ]),
              language: z.string().length(2).exactOptional(),
              keywords: z.array(z.string().max(100)).max(100).exactOptional(),
              prompt: z.string().exactOptional(),
            })
            .nullable()
            .exactOptional(),
        })
        .exactOptional(),
      output: z
        .strictObject({
          format: audioFormat,
          voice: z.union([z.enum(VOICES), z.strictObject({ id: z.string().startsWith('voice_') })]),
          speed: z.number().min(0.25).max(1.5).exactOptional(),
        })
        .exactOptional(),
    })
    .exactOptional(),
});

const itemSchema = z.union([
  z.strictObject({
    id: z.string().max(32).exactOptional(),
    type: z.literal('message'),
    role: z.literal('user'),
    content: z.tuple([z.strictObject({ type: z.literal('input_text'), text: z.string().min(1) })]),
  }),
  z.strictObject({
    id: z.string().max(32).exactOptional(),
    type: z.literal('message'),
    role: z.literal('assistant'),
    content: z.tuple([z.strictObject({ type: z.literal('output_text'), text: z.string().min(1) })]),
  }),
  z.strictObject({
    id: z.string().max(32).exactOptional(),
    type: z.literal('function_call'),
    call_id: z.string().min(1),
    name: z.string().min(1),
    arguments: z.string(),
  }),
  z.strictObject({
    id: z.string().max(32).exactOptional(),
    type: z.literal('function_call_output'),
    call_id: z.string().min(1),
    output: z.string(),
  }),
]);

const responseSchema = z.strictObject({
  conversation: z.enum(['auto', 'none']).exactOptional(),
  metadata: z.record(z.string().max(64), z.string().max(512)).exactOptional(),
  output_modalities: modalities.exactOptional(),
  instructions: z.string().exactOptional(),
  tool_choice: z.strictObject({ type: z.literal('function'), name: z.string() }).exactOptional(),
  input: z.array(itemSchema).exactOptional(),
});

export const clientEvent = z.discriminatedUnion('type', [
  z.strictObject({ ...eventId, type: z.literal('session.update'), session: sessionSchema }),
  z.strictObject({ ...eventId, type: z.literal('input_audio_buffer.append'), audio: z.base64() }),
  z.strictObject({ ...eventId, type: z.literal('input_audio_buffer.commit') }),
  z.strictObject({ ...eventId, type: z.literal('input_audio_buffer.clear') }),
  z.strictObject({
    ...eventId,
    type: z.literal('conversation.item.create'),
    previous_item_id: z.string().exactOptional(),
    item: itemSchema,
  }),
  z.strictObject({ ...eventId, type: z.literal('conversation.item.delete'), item_id: z.string() }),
  z.strictObject({
    ...eventId,
    type: z.literal('conversation.item.truncate'),
    item_id: z.string(),
    content_index: z.literal(0),
    audio_end_ms: z.int().min(0),
  }),
  z.strictObject({ ...eventId, type: z.literal('response.create'), response: responseSchema.exactOptional() }),
  z.strictObject({ ...eventId, type: z.literal('response.cancel'), response_id: z.string().exactOptional() }),
]);

export type ClientEvent = z.infer<typeof clientEvent>;
export type Session = z.infer<typeof sessionSchema>;
export type WrittenItem = z.infer<typeof itemSchema>;
export type ResponseParams = z.infer<typeof responseSchema>;
