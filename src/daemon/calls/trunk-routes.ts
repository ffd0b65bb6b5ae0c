import * as z from 'zod';
import { unixSeconds } from '../../base/real-clock.js';
import type { CarrierStatistics } from '../../telephony/carriers/carrier-statistics.js';
import type { TrunkState } from '../../telephony/carriers/sip/carrier.js';
import { hopText } from '../../telephony/sip/hop.js';
import type { Api } from '../http/api.js';

export interface TrunkRoutesOptions {
  figures: Pick<CarrierStatistics, 'states' | 'trunkRefusals' | 'accounts' | 'accountRefusals'>;
  /** Opens the trunks, where they are not. */
  open: () => Promise<unknown>;
  /** Of the clock that the trunks have. */
  nowMs: () => number;
  nowUnixMs: () => number;
}

const trunkSchema = z
  .strictObject({
    name: z.string().describe('Of `sip.trunks`; `default` is the trunk that `sip` is itself.'),
    numbers: z.array(z.string()).describe('Its numbers that are in use, E.164.'),
    calls: z.int().describe('Calls under way.'),
    registration: z
      .strictObject({
        state: z.enum(['registering', 'registered', 'failed', 'ended']),
        reason: z.string().nullable().describe('Why it failed, in the words of the registrar.'),
      })
      .nullable()
      .describe('Null where the trunk is not to be registered with.'),
    servers: z.array(
      z.strictObject({
        address: z.string().describe('Such as `UDP 192.0.2.7:5060`.'),
        answers: z.boolean().nullable().describe('Whether it answered the last OPTIONS; null = none was sent yet.'),
        last_answer_at: z.int().nullable().describe('Unix seconds'),
        last_status: z.int().nullable().describe('What it answered last; any status is an answer.'),
      }),
    ),
    refused: z
      .array(z.strictObject({ status: z.int(), count: z.int() }))
      .describe('Calls that came in and were refused since the start, by SIP status.'),
  })
  .meta({ id: 'Trunk', description: 'A SIP trunk, and how it is.' });

const carrierSchema = z
  .strictObject({
    name: z.string().describe('Such as `twilio`.'),
    numbers: z.array(z.string()).describe('The numbers of the account that are in use, E.164.'),
    calls: z.int().describe('Calls under way.'),
    refused: z
      .array(
        z.strictObject({
          reason: z
            .enum(['signature', 'number', 'declined', 'unavailable', 'full', 'failed'])
            .describe(
              '`signature`: a request or media socket that is not shown to be the carrier’s; `number`: a call to none of our numbers; `unavailable`: to one without an agent; `full`: beyond a limit, or while the daemon shuts down; `declined`; `failed`: the agent cannot take it.',
            ),
          count: z.int(),
        }),
      )
      .describe('What was refused since the start, by reason.'),
  })
  .meta({ id: 'CarrierAccount', description: 'An account with a carrier, and how it is.' });

/** How the SIP trunks are, and accounts with other carriers. */
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
    summary: 'SIP trunks, and how they are',
    description: 'Empty where the setting `sip` names none.',
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
    summary: 'Accounts with Twilio, Telnyx and Plivo, and how they are',
    description: 'Empty where the settings name none.',
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
