import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs, styleText } from 'node:util';
import { type AgentFile, loadAgentFile } from '../config/agent-file.js';
import type { SessionContinuation } from '../config/continuation.js';
import { Engine } from '../engine/engine.js';
import { systemProbe } from '../net/probe.js';
import { packageFile } from '../package-files.js';
import { silentTts } from '../providers/tts/silent.js';
import type { SessionEvent } from '../session/session-options.js';
import type { SessionReport } from '../session/session-report.js';
import { MemoryTransport } from '../transports/memory.js';
import { SOUND_PROGRAMS, SoundDeviceTransport, type SoundPrograms } from '../transports/sound-device.js';
import type { Command, CommandIo } from './command.js';
import { openAgentStores } from './agent-stores.js';
import { CallStores } from './call-stores.js';
import { atDesk, openDemoDesk, usesDemoDesk } from './demo-desk.js';
import { engineSettings } from './engine-settings.js';
import { LineFeed } from './line-feed.js';
import { continuationOf, metadataOf } from './values.js';

const DEMO_AGENT = fileURLToPath(packageFile('examples/restaurant/agent.json'));

export const talk: Command = {
  help: `
parley talk [--agent FILE] [--text] [--recordings DIR]

The conversation in this terminal: by voice where the machine has a microphone and a loudspeaker (arecord and aplay, or
sox), else by typing. Lines that you type are said in your place in both. Ctrl-C or Ctrl-D hangs up.

  --agent FILE   the agent: {name, config, script?}; default the demo agent
  --text         type and read; nothing is recorded or played
  --metadata JSON the session's metadata, an object
  --continue FILE what the session goes on from, JSON: {messages?, session_id?, identifier_variable?}
  --knowledge FILE  a file that the agent can consult: txt, md, csv, json, html, pdf or docx; may be given several times
  --recordings DIR  where agents with enable_recording are recorded; default recordings in the data folder
`,
  async run(args, io) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        agent: { type: 'string' },
        text: { type: 'boolean', default: false },
        metadata: { type: 'string' },
        continue: { type: 'string' },
        recordings: { type: 'string' },
        knowledge: { type: 'string', multiple: true, default: [] },
      },
    });
    const about = { metadata: metadataOf(values.metadata), continuation: await continuationOf(values.continue) };
    const agent = await loadAgentFile(values.agent ?? DEMO_AGENT);
    const programs = values.text ? null : await soundPrograms();
    if (programs === null && !values.text) {
      io.stderr.write('no arecord and aplay and no sox here: type in place of speaking\n');
    }
    const { engine: found, settings } = await engineSettings(io);
    const stores = await openAgentStores(agent, {
      ...{ settings, knowledge: values.knowledge, virtual: false },
      onFault: (reason) => io.stderr.write(`knowledge: ${reason}\n`),
    });
    const desk = usesDemoDesk(agent.config) ? await openDemoDesk() : null;
    const allowUrls = [...found.allowUrls, ...(desk === null ? [] : [desk.url])];
    const { recordings = found.recordings } = values;
    const callStores = new CallStores(settings);
    const engine = new Engine({ ...found, ...stores.engine, ...callStores.engine(), allowUrls, recordings });
    try {
      const hosted = { ...agent, id: stores.agentId, config: atDesk(stores.config, desk) };
      const report = await converse(engine, hosted, about, programs, io);
      io.stderr.write(`${styleText('dim', `call over: ${report.status}`)}\n`);
      return io.signal.aborted ? 130 : report.status === 'error' ? 1 : 0;
    } finally {
      await engine.close();
      await desk?.close();
      await stores.close();
      callStores.close();
    }
  },
};

/** What the session is told of who talks. */
interface About {
  metadata: Readonly<Record<string, unknown>>;
  continuation: SessionContinuation | null;
}

async function converse(
  engine: Engine,
  agent: AgentFile & { id: string },
  { metadata, continuation }: About,
  programs: SoundPrograms | null,
  io: CommandIo,
): Promise<SessionReport> {
  const line = programs === null ? new MemoryTransport() : new SoundDeviceTransport({ programs, clock: engine.clock });
  const hangUp = (): void => void line.close();
  const isTyped = programs === null;
  const isPerson = io.stdin.isTTY === true;
  io.stderr.write(`${agent.name}: connecting …\n`);
  const session = await engine.createSession({
    agent: agent.config,
    agentId: agent.id,
    script: agent.script,
    transport: line,
    metadata,
    ...(continuation !== null && { continuation }),
    ...(isTyped && { tts: silentTts }),
    log: (entry) => {
      if (entry.kind === 'note' && 'reason' in entry.data)
        io.stderr.write(styleText('dim', `       ${entry.name}: ${String(entry.data['reason'])}\n`));
    },
    observe: (event) => {
      show(event, io, !isTyped);
      if (event.type === 'agent') feed.answered();
    },
  });
  // By voice the call goes on without anything to read lines from.
  const onLinesOver = isTyped || isPerson ? hangUp : (): void => undefined;
  const feed = new LineFeed(!isPerson, (text) => session.sendText(text), onLinesOver);
  const input = createInterface({ input: io.stdin });
  input.on('line', (text) => feed.line(text));
  input.on('close', () => feed.end());
  io.signal.addEventListener('abort', hangUp, { once: true });
  if (io.signal.aborted) hangUp();
  try {
    return await session.run();
  } finally {
    io.signal.removeEventListener('abort', hangUp);
    input.close();
  }
}

async function soundPrograms(): Promise<SoundPrograms | null> {
  for (const programs of SOUND_PROGRAMS) {
    const found = await Promise.all([programs.record, programs.play].map(([name]) => systemProbe.hasCommand(name)));
    if (found.every(Boolean)) return programs;
  }
  return null;
}

function show(event: SessionEvent, io: CommandIo, spoken: boolean): void {
  const { stdout, stderr } = io;
  if (event.type === 'agent') stdout.write(`${styleText('cyan', 'agent')}  ${event.text}\n`);
  else if (event.type === 'user') stdout.write(`${styleText('green', 'you')}    ${event.text}\n`);
  else if (event.type === 'tool') {
    stderr.write(styleText('dim', `       ${event.call.name}(${event.call.arguments}) → ${event.result}\n`));
  } else if (event.type === 'answered' && spoken) {
    stderr.write(styleText('dim', `       answered after ${(event.metrics.responseMs ?? 0).toFixed(0)} ms\n`));
  }
}
