import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { BASE, brokenRules, INTERFACES, LIBRARY, MAY_IMPORT } from '../../scripts/import-rules.mjs';
import { packageFile } from '../../src/package-files.js';

describe('who may import whom', () => {
  it.each([
    ['conversation/reply.ts', "import type { X } from '../agent/agent.js';"],
    ['conversation/reply.ts', "import { step } from './core.js';"],
    ['audio/wav.ts', "import { ParleyError } from '../base/errors.js';"],
    ['providers/llm/openai.ts', "import { delay } from '../../base/clock.js';"],
    ['providers/tts/flite.ts', "import { x } from '../stt/words.js';"],
    ['session/session.ts', "import type { Vad } from '../providers/vad/vad.js';"],
    ['session/session.ts', "import { EventEmitter } from 'node:events';\nimport WebSocket from 'ws';"],
    ['web/page.ts', "import type { Message } from '../daemon/talk/messages.js';"],
    ['index.ts', "export { Session } from './session/session.js';"],
    ['base/errors.ts', ''],
    ['conversation/reply.ts', "// import { x } from '../session/session.js';\n/* from '../daemon/app.js' */"],
  ])('%s may: %s', (path, source) => {
    expect(brokenRules(path, source)).toEqual([]);
  });

  it.each([
    ['conversation/reply.ts', "import { frameSamples } from '../audio/frame.js';"],
    ['conversation/reply.ts', "import type {\n  A,\n  B,\n} from '../session/session.js';"],
    ['audio/wav.ts', "export * from '../session/session.js';"],
    ['session/session.ts', "import { FliteTts } from '../providers/tts/flite.js';"],
    ['session/session.ts', "const it = await import('../daemon/app.js');"],
    ['testing/index.ts', "import { app } from '../daemon/app.js';"],
    ['tools/tool.ts', "import '../store/store.js';"],
    ['web/page.ts', "import { parse } from '../daemon/talk/messages.js';"],
    ['audio/wav.ts', "import { x } from '../index.js';"],
    ['gadgets/x.ts', ''],
    ['agent/agent.ts', "import { z } from 'zod';"],
  ])('%s may not: %s', (path, source) => {
    expect(brokenRules(path, source)).toHaveLength(1);
  });

  it('names the file, the import and what would be allowed', () => {
    expect(brokenRules('transports/file.ts', "import { x } from '../session/session.js';")).toEqual([
      'src/transports/file.ts: transports may not import session/session. It may import base, audio',
    ]);
  });

  it('has a row for every folder of src, or for each folder in it', () => {
    const below = (path: string): string[] =>
      readdirSync(packageFile(path), { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory() ? [entry.name] : [],
      );
    const rooms = below('src').flatMap((name) =>
      name === 'telephony' ? below('src/telephony').map((inner) => `telephony/${inner}`) : [name],
    );
    expect(Object.keys(MAY_IMPORT)).toEqual(expect.arrayContaining(rooms));
  });

  it('has no cycle', () => {
    const done = new Set<string>();
    const visit = (room: string, path: readonly string[]): void => {
      expect(path).not.toContain(room);
      if (done.has(room)) return;
      for (const next of MAY_IMPORT[room] ?? []) if (next in MAY_IMPORT) visit(next, [...path, room]);
      done.add(room);
    };
    for (const room of Object.keys(MAY_IMPORT)) visit(room, []);
    expect(done.size).toBe(Object.keys(MAY_IMPORT).length);
  });

  it('is in CONTRIBUTING.md (else run this test with PARLEY_UPDATE_DOCS=1)', async () => {
    const file = packageFile('CONTRIBUTING.md');
    const page = await readFile(file, 'utf8');
    const current = page.replace(
      /(<!-- imports -->\n)[^]*(<!-- \/imports -->)/,
      (_whole, begin: string, end: string) => `${begin}\n${importTable()}\n\n${end}`,
    );
    if (process.env['PARLEY_UPDATE_DOCS'] === '1') await writeFile(file, current);
    else expect(page).toBe(current);
  });
});

/** Folders that many rows list together, largest group first, by the words that stand for them. */
const GROUPS: readonly (readonly [words: string, members: readonly string[]])[] = [
  ['*the library*', LIBRARY],
  ['*the foundation*', BASE],
  ['*the interfaces*', INTERFACES],
];

function importTable(): string {
  const groups = GROUPS.map(([words, members]) => `- ${words}: ${shortList(members, words)}`);
  const rows = Object.entries(MAY_IMPORT).map(([room, imports]) => `| \`${room}\` | ${shortList(imports)} |`);
  return [...groups, '', '| folder | imports |', '| --- | --- |', ...rows].join('\n');
}

/** A list with groups in place of their members, all but the group that is being described. */
function shortList(names: readonly string[], described?: string): string {
  let rest = names;
  const words: string[] = [];
  for (const [group, members] of GROUPS) {
    if (group === described || !members.every((it) => rest.includes(it))) continue;
    words.push(group);
    rest = rest.filter((it) => !members.includes(it));
  }
  return [...words, ...rest.map((it) => `\`${it}\``)].join(', ') || 'nothing';
}
