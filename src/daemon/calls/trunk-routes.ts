import * as z from 'zod';
import { unixSeconds } from '../../base/real-clock.js';
import type { CarrierStatistics } from '../../telephony/carriers/carrier-statistics.js';
import type { TrunkState } from '../../telephony/carriers/sip/carrier.js';
import { hopText } from '../../telephony/sip/hop.js';
import type { Api } from '../http/api.js';

export interface TrunkRoutesOptions {
  figures: Pick<CarrierStatistics, 'states' | 'trunkRefusals' | 'accounts' | 'accountRefusals'>;
  /** Opens the trunks if they are closed. */
  open: () => Promise<unknown>;
  /** The time of the trunks' clock. */
  nowMs: () => number;
  nowUnixMs: () => number;
}

const trunkSchema = z
  .strictObject({
    name: z.string().describe('The name in `sip.trunks`; `default` is the trunk of `sip` itself.'),
    numbers: z.array(z.string()).describe('Its imported numbers, E.164.'),
    calls: z.int().describe('Calls in progress.'),
    registration: z
      .strictObject({
        state: z
          .enum(['registering', 'registered', 'failed', 'standby', 'ended'])
          .describe('`standby`: another node registers.'),
        reason: z.string().nullable().describe('Why it failed, as the registrar reported it.'),
      })
      .nullable()
      .describe('Null = the trunk has no registration.'),
    servers: z.array(
      z.strictObject({
        address: z.string().describe('Such as `UDP 192.0.2.7:5060`.'),
        answers: z.boolean().nullable().describe('Whether it answered the last OPTIONS; null = none has been sent.'),
        last_answer_at: z.int().nullable().describe('Unix seconds'),
        last_status: z.int().nullable().describe('The status of its last answer. Any status counts as an answer.'),
      }),
    ),
    refused: z
      .array(z.strictObject({ status: z.int(), count: z.int() }))
      .describe('Refused inbound calls since the start, by SIP status.'),
  })
  .meta({ id: 'Trunk', description: 'The state of a SIP trunk.' });

const carrierSchema = z
  .strictObject({
    name: z.string().describe('Such as `twilio`.'),
    numbers: z.array(z.string()).describe('The imported numbers of the account, E.164.'),
    calls: z.int().describe('Calls in progress.'),
    refused: z
      .array(
        z.strictObject({
          reason: z
            .enum(['signature', 'number', 'declined', 'unavailable', 'full', 'failed'])
            .describe(
              '`signature`: a request or media socket without a valid signature of the carrier; `number`: a call to an unknown number; `unavailable`: to a number without an agent; `full`: beyond a limit, or during the shutdown; `declined`; `failed`: the agent cannot take it.',
            ),
          count: z.int(),
        }),
      )
      .describe('Refusals since the start, by reason.'),
  })
  .meta({ id: 'CarrierAccount', description: 'The state of an account with a carrier.' });

/** The state of SIP trunks and of accounts with other carriers. */
export function trunkRoutes(api: Api, { figures, open, nowMs, nowUnixMs }: TrunkRoutesOptions): void {
  const replyOf = ({ name, numbers, calls, registration, servers }: TrunkState): z.output<typeof trunkSchema> => ({
    name,
    numbers: [...numbers],
    calls,
    registration: registration && {
      state: registration.state,
      reason: registration.state === 'failed' ? registration.reason : null,
    },
    servers: servers.map(({ hop, answers, last }) => ({
      address: hopText(hop),
      answers,
      last_status: last?.status ?? null,
      last_answer_at: last === null ? null : Math.round(unixSeconds(nowUnixMs()) - (nowMs() - last.atMs) / 1000),
    })),
    refused: figures.trunkRefusals.flatMap(({ trunk, status, count }) => (trunk === name ? [{ status, count }] : [])),
  });
  api.add({
    id: 'listTrunks',
    method: 'GET',
    path: '/trunks',
    tag: 'phones',
    summary: 'The state of all SIP trunks on the node that answers',
    description: 'Empty if the setting `sip` names none.',
    answer: z.array(trunkSchema),
    examples: () => ({
      answer: [
        {
          name: 'default',
          numbers: ['+12025550100'],
          calls: 1,
          registration: { state: 'registered', reason: null },
          servers: [{ address: 'UDP 192.0.2.7:5060', answers: true, last_answer_at: 1_795_448_060, last_status: 200 }],
          refused: [{ status: 486, count: 2 }],
        },
      ],
    }),
    handle: async () => {
      await open();
      return figures.states.map(replyOf);
    },
  });
  api.add({
    id: 'listCarriers',
    method: 'GET',
    path: '/carriers',
    tag: 'phones',
    summary: 'The state of the accounts with Twilio, Telnyx and Plivo',
    description: 'Empty if the settings name none.',
    answer: z.array(carrierSchema),
    examples: () => ({
      answer: [{ name: 'twilio', numbers: ['+12025550100'], calls: 1, refused: [{ reason: 'signature', count: 3 }] }],
    }),
    handle: async () => {
      await open();
      return figures.accounts.map(({ state: { name, numbers, calls } }) => ({
        name,
        numbers: [...numbers],
        calls,
        refused: figures.accountRefusals.flatMap(({ carrier, reason, count }) =>
          carrier === name ? [{ reason, count }] : [],
        ),
      }));
    },
  });
}
