import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { brokenRules, MAY_IMPORT } from '../../scripts/import-rules.mjs';
import { packageFile } from '../../src/package-files.js';

describe('who may import whom', () => {
  it.each([
    ['conversation/reply.ts', "import type { X } from '../config/agent.js';"],
    ['conversation/reply.ts', "import { step } from './core.js';"],
    ['audio/wav.ts', "import { ParleyError } from '../errors.js';"],
    ['providers/llm/openai.ts', "import { delay } from '../../clock/clock.js';"],
    ['providers/tts/flite.ts', "import { x } from '../stt/words.js';"],
    ['session/session.ts', "import type { Vad } from '../providers/vad/vad.js';"],
    ['session/session.ts', "import { EventEmitter } from 'node:events';\nimport WebSocket from 'ws';"],
    ['web/page.ts', "import type { Message } from '../daemon/talk/messages.js';"],
    ['index.ts', "export { Session } from './session/session.js';"],
    ['errors.ts', ''],
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
  ])('%s may not: %s', (path, source) => {
    expect(brokenRules(path, source)).toHaveLength(1);
  });

  it('names the file, the import and what would be allowed', () => {
    expect(brokenRules('transports/file.ts', "import { x } from '../session/session.js';")).toEqual([
      'src/transports/file.ts: transports may not import session/session. It may import audio, clock, rtp/packet, rtp/srtp, rtp/srtp-keys',
    ]);
  });

  it('has a row for every folder of src', () => {
    const folders = readdirSync(packageFile('src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(Object.keys(MAY_IMPORT)).toEqual(expect.arrayContaining(folders.map((entry) => entry.name)));
  });
});
