import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import { checkOffer } from '../../transports/webrtc/offer.js';
import { openWebRtc } from '../../transports/webrtc/open-webrtc.js';
import type { PeerSettings } from '../../transports/webrtc/peer.js';
import { isE164 } from '../../telephony/carriers/destinations.js';
import { InvalidConfigError } from '../../schema/issues.js';
import type { CallStore } from '../../store/calls.js';
import { type Dialer, notANumber } from '../calls/dialer.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import { faultAt } from '../http/replies.js';
import type { CallOwners } from '../nodes/call-owners.js';
import type { CallParticipants, Guest } from './call-participants.js';
import { modeSchema, nameOf, nameSchema, participantSchema, type ShownParticipant } from './participant-shape.js';

export interface ParticipantRoutesOptions {
  participants: CallParticipants;
  owners: Pick<CallOwners, 'ofRunning'>;
  dialer: Pick<Dialer, 'person'>;
  calls: Pick<CallStore, 'get'>;
  peers: PeerSettings;
  clock: Clock;
}

const id = z.string().min(1).max(200);
const session = { session_id: id };
const one = { session_id: id, participant_id: id };

const common = {
  name: nameSchema.optional(),
  mode: modeSchema.default('listen'),
  whisper_to: id.nullish().describe('The participant who hears a whisper. Default: the agent’s model reads it.'),
};

const body = z
  .discriminatedUnion('channel', [
    z
      .strictObject({
        channel: z.literal('webrtc'),
        offer: z.strictObject({
          sdp: z
            .string()
            .describe('Opus audio in both directions, with all candidates; at most 64 kB and 32 sections.'),
          type: z.literal('offer'),
        }),
        ...common,
      })
      .meta({ id: 'WebRtcParticipant', description: 'Joins over WebRTC, when the connection is open.' }),
    z
      .strictObject({
        channel: z.literal('phone'),
        phone_number: z.string().min(1).max(40).describe('E.164'),
        from: z.string().min(1).max(40).nullish().describe('One of our numbers. Default: that of the call, by phone.'),
        ring_s: z.int().min(5).max(600).optional().describe('Default and maximum: the operator’s `calls.ringS`.'),
        ...common,
      })
      .meta({ id: 'PhoneParticipant', description: 'Is called, and joins at the answer.' }),
  ])
  .meta({ id: 'NewParticipant' });
type Wish = z.output<typeof body>;

const added = participantSchema
  .extend({ answer: z.strictObject({ sdp: z.string(), type: z.string() }).nullable() })
  .meta({ id: 'AddedParticipant', description: '`answer`: to the offer; `null` for a phone.' });

const changes = z
  .strictObject({
    mode: modeSchema.optional(),
    whisper_to: id.nullable().optional(),
    held: z.boolean().optional().describe('On hold they hear music or nothing, and nobody hears them.'),
    music: z.boolean().optional().describe('What they hear on hold.'),
    muted: z.boolean().optional().describe('Nobody hears them.'),
  })
  .meta({ id: 'ParticipantChanges' });

const EXAMPLE: ShownParticipant = {
  participant_id: '5b0c8a3e-1c0f-4a3b-9a0d-5f2f1f0b6c11',
  name: 'Ada',
  channel: 'webrtc',
  mode: 'whisper',
  whisper_to: null,
  held: false,
  muted: false,
  status: 'joined',
  reason: null,
};
const CALL_REFUSALS = [
  ...(['NUMBER_NOT_OWNED', 'NUMBER_INACTIVE', 'DO_NOT_CALL', 'CALL_FORBIDDEN', 'CALL_NOT_ALLOWED'] as const),
  ...(['CALLS_STOPPED', 'LIMIT_CONCURRENT_CALLS', 'LIMIT_CALLS_PER_MINUTE', 'LIMIT_MINUTES_PER_DAY'] as const),
  ...(['LIMIT_DESTINATION_PER_MINUTE', 'LIMIT_DESTINATION_PER_DAY', 'DAEMON_DRAINING'] as const),
] as const;
const REFUSALS = ['NOT_FOUND', 'SESSION_CLOSED', 'COMMAND_REFUSED', 'LISTENING_REFUSED', 'NODE_UNREACHABLE'] as const;

/** People who join running sessions. */
export function participantRoutes(api: Api, options: ParticipantRoutesOptions): void {
  addRoute(api, options);
  changeRoutes(api, options);
}

const shared = ({ owners }: ParticipantRoutesOptions) =>
  ({
    scope: 'calls',
    tag: 'calls',
    owner: ({ params }: { params: { session_id: string } }) => owners.ofRunning(params.session_id),
  }) as const;

function addRoute(api: Api, options: ParticipantRoutesOptions): void {
  api.add({
    ...shared(options),
    id: 'addParticipant',
    method: 'POST',
    path: '/sessions/{session_id}/participants',
    summary: 'Let somebody join a running session',
    description:
      'Answers an offer of WebRTC, or calls somebody by phone: they join when they are connected. Events `participant` ' +
      'and the list tell how it goes, with `busy`, `no-answer` and so on as the `reason`. The limits of outbound calls ' +
      'apply to phones.',
    params: session,
    body,
    answer: added,
    errors: [...REFUSALS, 'OFFER_INVALID', ...CALL_REFUSALS],
    examples: () => ({
      body: { channel: 'webrtc', name: 'Ada', mode: 'whisper', offer: { type: 'offer', sdp: 'v=0\r\n…' } },
      answer: { ...EXAMPLE, status: 'connecting', answer: { type: 'answer', sdp: 'v=0\r\n…' } },
    }),
    handle: async ({ params: { session_id: sessionId }, body: wish, key }) => {
      const { name, mode, whisper_to: whisperTo = null, channel } = wish;
      const guest: Guest = { sessionId, name: nameOf(name, key), mode, whisperTo, channel, by: key?.id ?? '' };
      await options.participants.admit(sessionId, mode);
      if (wish.channel === 'webrtc') return browser(guest, wish.offer.sdp, options);
      return { ...(await phone(guest, wish, options)), answer: null };
    },
  });
}

function changeRoutes(api: Api, options: ParticipantRoutesOptions): void {
  const { participants } = options;
  api.add({
    ...shared(options),
    id: 'listParticipants',
    method: 'GET',
    path: '/sessions/{session_id}/participants',
    summary: 'Who has joined a running session, or is about to',
    params: session,
    answer: z.strictObject({ participants: z.array(participantSchema) }).meta({ id: 'Participants' }),
    errors: ['NOT_FOUND', 'SESSION_CLOSED', 'COMMAND_REFUSED', 'NODE_UNREACHABLE'],
    examples: () => ({ answer: { participants: [EXAMPLE] } }),
    handle: async ({ params }) => ({ participants: await participants.list(params.session_id) }),
  });

  api.add({
    ...shared(options),
    id: 'changeParticipant',
    method: 'PUT',
    path: '/sessions/{session_id}/participants/{participant_id}',
    summary: 'Change what a participant hears, and who hears them',
    params: one,
    body: changes,
    answer: participantSchema,
    errors: [...REFUSALS],
    examples: () => ({ body: { mode: 'take_over' as const }, answer: { ...EXAMPLE, mode: 'take_over' } }),
    handle: ({ params: { session_id: of, participant_id: who }, body: { whisper_to: whisperTo, ...rest } }) => {
      const given = Object.entries({ ...rest, whisperTo }).filter(([, value]) => value !== undefined);
      return participants.change(of, who, Object.fromEntries(given));
    },
  });

  api.add({
    ...shared(options),
    id: 'removeParticipant',
    method: 'DELETE',
    path: '/sessions/{session_id}/participants/{participant_id}',
    summary: 'Let a participant go',
    description: 'After a take-over the agent goes on.',
    params: one,
    answer: success,
    errors: ['NOT_FOUND', 'SESSION_CLOSED', 'COMMAND_REFUSED', 'NODE_UNREACHABLE'],
    handle: async ({ params: { session_id: of, participant_id: who } }) => {
      await participants.remove(of, who);
      return { success: true };
    },
  });
}

/** Answers an offer; its end joins when it is connected. */
async function browser(guest: Guest, offer: string, { participants, peers, clock }: ParticipantRoutesOptions) {
  const { sdp, line } = await answered(offer, peers, clock);
  try {
    const shown = await participants.invite(guest, async (signal) => {
      signal.addEventListener('abort', () => void line.close(), { once: true });
      await line.connected;
      return line;
    });
    return { ...shown, answer: { type: 'answer', sdp } };
  } catch (error) {
    await line.close();
    throw error;
  }
}

/** Calls somebody, who joins at the answer. */
async function phone(
  guest: Guest,
  { phone_number: to, from, ring_s: ringS }: Extract<Wish, { channel: 'phone' }>,
  { participants, dialer, calls }: ParticipantRoutesOptions,
) {
  const { sessionId } = guest;
  const own = from ?? (await ownNumber(sessionId, calls));
  if (own === null) {
    const msg = 'Field required: the call has no number of ours';
    throw new InvalidConfigError([{ loc: ['body', 'from'], msg, type: 'missing' }]);
  }
  if (!isE164(own)) throw notANumber(own, 'from');
  if (!isE164(to)) throw notANumber(to, 'phone_number');
  const call = await dialer.person({
    from: own,
    to,
    sessionId,
    ringTimeoutMs: ringS === undefined ? ringS : ringS * 1000,
  });
  try {
    return await participants.invite(guest, (signal) => {
      signal.addEventListener('abort', () => call.end(), { once: true });
      return call.start();
    });
  } catch (error) {
    call.end();
    throw error;
  }
}

async function ownNumber(sessionId: string, calls: Pick<CallStore, 'get'>): Promise<string | null> {
  const call = await calls.get(sessionId);
  if (call?.channel !== 'phone') return null;
  return call.direction === 'inbound' ? call.toPhone : call.fromPhone;
}

/** @throws ParleyError OFFER_INVALID */
async function answered(offer: string, peers: PeerSettings, clock: Clock) {
  try {
    checkOffer(offer);
    const line = await openWebRtc(peers, clock);
    line.sendsSilence = true;
    const sdp = await line.answer(offer).catch(async (error: unknown) => {
      await line.close();
      throw error;
    });
    return { sdp, line };
  } catch (error) {
    const isOffer = error instanceof ParleyError && error.code === 'OFFER_INVALID';
    throw isOffer ? faultAt(['body', 'offer', 'sdp'], error) : error;
  }
}
