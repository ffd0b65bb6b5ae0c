import { createInterface } from 'node:readline';
import { parseArgs, styleText } from 'node:util';
import { loadAgentFile } from '../config/agent-file.js';
import { Engine } from '../engine/engine.js';
import { systemProbe } from '../net/probe.js';
import { packageFile } from '../package-files.js';
import { silentTts } from '../providers/tts/silent.js';
import type { SessionEvent } from '../session/session-options.js';
import { MemoryTransport } from '../transports/memory.js';
import { SOUND_PROGRAMS, SoundDeviceTransport, type SoundPrograms } from '../transports/sound-device.js';
import type { Command, CommandIo } from './command.js';
import { DEMO_DESK_URL, openDemoDesk, usesDemoDesk } from './demo-desk.js';
import { engineSettings } from './engine-settings.js';
import { LineFeed } from './line-feed.js';
import { metadataOf } from './metadata.js';

const DEMO_AGENT = packageFile('examples/restaurant/agent.json');

export const talk: Command = {
  help: `
parley talk [--agent FILE] [--text]

The conversation in this terminal: by voice where the machine has a microphone and a loudspeaker (arecord and aplay, or
sox), else by typing. Lines that you type are said in your place in both. Ctrl-C or Ctrl-D hangs up.

  --agent FILE   the agent: {name, config, script?}; default the demo agent
  --text         type and read; nothing is recorded or played
  --metadata JSON the session's metadata, an object
`,
  async run(args, io) {
    const { values } = parseArgs({
      args: [...args],
      options: { agent: { type: 'string' }, text: { type: 'boolean', default: false }, metadata: { type: 'string' } },
    });
    const agent = await loadAgentFile(values.agent ?? DEMO_AGENT.pathname);
    const programs = values.text ? null : await soundPrograms();
    if (programs === null && !values.text) {
      io.stderr.write('no arecord and aplay and no sox here: type in place of speaking\n');
    }
    const demo = usesDemoDesk(agent.config);
    const desk = demo ? await openDemoDesk() : null;
    const { engine: found } = await engineSettings(io);
    const engine = new Engine({ ...found, allowUrls: [...found.allowUrls, ...(demo ? [DEMO_DESK_URL] : [])] });
    const line = programs === null ? new MemoryTransport() : new SoundDeviceTransport({ programs });
    try {
      io.stderr.write(`${agent.name}: connecting …\n`);
      const hangUp = (): void => {
        if (line instanceof MemoryTransport) line.hangUp();
        else void line.close();
      };
      const session = await engine.createSession({
        agent: agent.config,
        script: agent.script,
        transport: line,
        metadata: metadataOf(values.metadata),
        ...(programs === null && { tts: silentTts }),
        observe: (event) => {
          show(event, io, programs !== null);
          if (event.type === 'agent') feed.answered();
        },
      });
      const feed = new LineFeed(io.stdin.isTTY !== true, (text) => session.sendText(text), hangUp);
      const input = createInterface({ input: io.stdin });
      input.on('line', (text) => feed.line(text));
      input.on('close', () => feed.end());
      io.signal.addEventListener('abort', hangUp, { once: true });
      const report = await session.run();
      input.close();
      io.stderr.write(`${styleText('dim', `call over: ${report.status}`)}\n`);
      return io.signal.aborted ? 130 : report.status === 'error' ? 1 : 0;
    } finally {
      await engine.close();
      await desk?.close();
    }
  },
};

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
