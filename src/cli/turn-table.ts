import type { SessionReport } from '../session/session-report.js';
import type { TurnMetrics } from '../session/turn-metrics.js';

/** A session's turns for reading: what was heard, what was answered, and how long each stage took. */
export function turnTable(report: SessionReport): string {
  const lines = report.turns.flatMap((turn) => [
    `${String(turn.turn).padStart(3)}  ${time(turn.speechEndMs)}  user   ${turn.heard ?? ''}`,
    `     ${time(turn.audioStartMs)}  agent  ${turn.said}${turn.interrupted ? ' [interrupted]' : ''}`,
    `                    ${stages(turn)}`,
  ]);
  for (const call of report.functionCalls) {
    lines.push(`     called ${call.name}(${call.arguments}) → ${call.ok ? '' : 'FAILED: '}${call.result}`);
  }
  lines.push(`ended: ${report.status} after ${seconds(report.durationMs)}${summary(report.turns)}`);
  for (const [name, count] of Object.entries(report.faults)) lines.push(`fault: ${name} ×${String(count)}`);
  return `${lines.join('\n')}\n`;
}

function stages(turn: TurnMetrics): string {
  return (
    `response ${ms(turn.responseMs)} = end of turn ${ms(turn.endOfTurnMs)}, first token ${ms(turn.llmFirstMs)}, ` +
    `first sentence ${ms(turn.firstSentenceMs)}, its audio ${ms(turn.ttsFirstMs)}`
  );
}

function summary(turns: readonly TurnMetrics[]): string {
  const responses = turns.flatMap((turn) => turn.responseMs ?? []).sort((a, b) => a - b);
  const median = responses[Math.floor((responses.length - 1) / 2)];
  const slowest = responses.at(-1);
  return median === undefined ? '' : `; response time median ${ms(median)}, slowest ${ms(slowest ?? null)}`;
}

function time(atMs: number | null): string {
  return (atMs === null ? '' : seconds(atMs)).padStart(9);
}

function seconds(value: number): string {
  return `${(value / 1000).toFixed(2)} s`;
}

function ms(value: number | null): string {
  return value === null ? '–' : `${value.toFixed(0)} ms`;
}
