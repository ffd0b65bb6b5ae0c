import type { TrunkFigures } from '../../calls/trunk-figures.js';
import { UNHEARD_KINDS } from '../../rtp/totals.js';
import { hopText } from '../../sip/hop.js';
import type { Registry } from './registry.js';

/** The figures of SIP trunks and their media, and of other carriers. docs/operation.md lists them. */
export function trunkMetrics(registry: Registry, figures: TrunkFigures): void {
  const { media } = figures;
  registry.read(
    'counter',
    'parley_sip_messages_refused_total',
    'SIP messages that were dropped or refused, by why.',
    () => Object.entries(figures.messages).map(([why, value]) => ({ labels: { why }, value })),
  );
  registry.read('gauge', 'parley_sip_registrations', 'Trunks to register with, and those that have us.', () => [
    { labels: { state: 'wanted' }, value: figures.registrations.wanted },
    { labels: { state: 'held' }, value: figures.registrations.held },
  ]);
  registry.read(
    'counter',
    'parley_sip_calls_refused_total',
    'Calls that came in and were refused, by trunk and status.',
    () =>
      figures.refusedCalls.map(({ trunk, status, count }) => ({
        labels: { trunk, status: String(status) },
        value: count,
      })),
  );
  registry.read('gauge', 'parley_sip_server_up', 'Whether a server answered when it was asked last (OPTIONS).', () =>
    figures.states.flatMap(({ name: trunk, servers }) =>
      servers.flatMap(({ hop, answers }) =>
        answers === null ? [] : [{ labels: { trunk, server: hopText(hop) }, value: Number(answers) }],
      ),
    ),
  );
  registry.read('gauge', 'parley_rtp_sessions', 'Calls over SIP whose media are open.', () => [{ value: media.open }]);
  registry.read('counter', 'parley_rtp_calls_total', 'Calls that are over, by codec and SRTP.', () =>
    media.calls.map(({ codec, isSecure, count }) => ({ labels: { codec, srtp: String(isSecure) }, value: count })),
  );
  registry.read('counter', 'parley_rtp_unheard_total', 'Packets that were not heard, in calls that are over.', () =>
    UNHEARD_KINDS.map((kind) => ({ labels: { kind }, value: media.unheard[kind] })),
  );
  registry.read('counter', 'parley_rtp_concealed_seconds_total', 'Sound made up in place of lost packets.', () => [
    { value: media.concealedMs / 1000 },
  ]);
  registry.read(
    'counter',
    'parley_carrier_events_total',
    "Of carriers with media sockets: requests refused, calls' streams, and what was wrong with their messages and sound.",
    () =>
      figures.doors.flatMap((door) =>
        Object.entries(door.counts()).map(([what, value]) => ({ labels: { carrier: door.name, what }, value })),
      ),
  );
}
