import type { EvalLine } from '../result.js';

/** A tool's arguments and result are cut here. */
const MAX_TOOL_CHARS = 2_000;

/**
 * A call as numbered lines, for a model to read: `3 [12.4 s] agent: …`. Line 1 is the first of `lines`. No text can look
 * like a line of its own.
 */
export function numberedLines(lines: readonly EvalLine[]): string {
  return lines
    .map((line, index) => `${String(index + 1)} [${(line.startMs / 1000).toFixed(1)} s] ${lineText(line)}`)
    .join('\n');
}

/** A line without its number and time. */
export function lineText(line: EvalLine): string {
  switch (line.type) {
    case 'agent':
      return `agent: ${oneLine(line.text)}${line.interrupted ? ' (interrupted)' : ''}`;
    case 'caller':
      return `caller: ${oneLine(line.text)}`;
    case 'keys':
      return `${line.by} presses keys: ${line.keys}`;
    case 'tool': {
      const when = line.afterCall ? 'after the call, agent calls tool' : 'agent calls tool';
      const outcome = line.ok ? 'result' : 'error';
      return `${when} ${line.name}(${toolText(line.arguments)}), ${outcome}: ${toolText(line.result)}`;
    }
    case 'transfer':
      return `agent transfers the call to ${oneLine(line.target)}: ${line.outcome}`;
    case 'end':
      return line.by === 'limit'
        ? `the call reaches its longest duration (${line.status})`
        : `${line.by} ends the call (${line.status})`;
  }
}

/**
 * The line that a quote is from.
 * @param quote compared without regard to case, spaces, the form of quotation marks and what is around the words
 * @param number of the line that it should be from, from 1
 * @returns an index; null = no line contains the quote
 */
export function lineOfQuote(lines: readonly EvalLine[], quote: string, number: number): number | null {
  const words = comparable(quote);
  if (words === '') return null;
  const contains = (line: EvalLine | undefined): boolean =>
    line !== undefined && comparable(lineText(line)).includes(words);
  if (contains(lines[number - 1])) return number - 1;
  const index = lines.findIndex(contains);
  return index < 0 ? null : index;
}

function comparable(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[‘’‚‛′]/g, "'")
    .replaceAll(/[“”„‟″«»]/g, '"')
    .replaceAll(/[‐-―−]/g, '-')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/^[\s"'.…]+|[\s"'.…]+$/g, '');
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

function toolText(text: string): string {
  const line = oneLine(text);
  return line.length > MAX_TOOL_CHARS ? `${line.slice(0, MAX_TOOL_CHARS)}…` : line;
}
