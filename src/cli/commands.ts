import type { Command } from './shared/command.js';

export interface Entry {
  /** One line for the list of commands. */
  summary: string;
  /** Loads the command on use, so that `parley --help` does not wait for the engines. */
  load: () => Promise<Command>;
}

/** The commands by name, in the order of the overview. */
export const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: {
    summary: 'start the daemon: REST API, page and console',
    load: async () => (await import('./serve.js')).serve,
  },
  init: {
    summary: 'write a project to start from: agent, function in code, test suite',
    load: async () => (await import('./init.js')).init,
  },
  setup: {
    summary: 'choose, download and check a recogniser, a voice and models',
    load: async () => (await import('./setup/setup.js')).setup,
  },
  talk: {
    summary: 'talk to an agent in this terminal',
    load: async () => (await import('./talk.js')).talk,
  },
  run: {
    summary: 'play a recording of a user through a conversation',
    load: async () => (await import('./run.js')).run,
  },
  bench: {
    summary: 'measure response times over a folder of recordings',
    load: async () => (await import('./bench.js')).bench,
  },
  eval: {
    summary: 'run a test suite: simulated callers hold calls with an agent',
    load: async () => (await import('./eval/eval.js')).evalCommand,
  },
  call: {
    summary: 'let an agent call a number on the simulated phone network',
    load: async () => (await import('./call.js')).call,
  },
  numbers: {
    summary: 'list the numbers of the simulated phone network',
    load: async () => (await import('./numbers.js')).numbers,
  },
  keys: {
    summary: "list, create or revoke the daemon's API keys, change the secret key",
    load: async () => (await import('./keys/keys.js')).keys,
  },
  phones: {
    summary: "list a daemon's phone numbers, buy one, or give one to an agent",
    load: async () => (await import('./phones.js')).phones,
  },
  status: {
    summary: 'show whether a daemon is ready, its capacity and its calls',
    load: async () => (await import('./status.js')).status,
  },
  calls: {
    summary: 'place calls through a daemon; list, show, export or erase those of the call log',
    load: async () => (await import('./calls.js')).calls,
  },
  campaigns: {
    summary: 'create, start and watch campaigns of a running daemon',
    load: async () => (await import('./campaigns.js')).campaigns,
  },
  nodes: {
    summary: 'list the daemons that share a database',
    load: async () => (await import('./nodes.js')).nodes,
  },
  memories: {
    summary: "list or erase agents' memories of their users",
    load: async () => (await import('./memories.js')).memories,
  },
  'do-not-call': {
    summary: 'list, add or remove numbers that agents never call',
    load: async () => (await import('./do-not-call.js')).doNotCall,
  },
  providers: {
    summary: 'list recognisers, language models and voices, or test one',
    load: async () => (await import('./providers/providers.js')).providers,
  },
  turn: {
    summary: 'export labelled pauses of calls, train a turn model on them',
    load: async () => (await import('./turn/turn.js')).turn,
  },
  models: {
    summary: 'list, download or check local models',
    load: async () => (await import('./models/models.js')).models,
  },
  mcp: {
    summary: 'offer the platform as MCP tools on standard input and output; authorize at MCP servers',
    load: async () => (await import('./mcp/mcp.js')).mcp,
  },
  agents: {
    summary: 'check agent files, or print their JSON Schema',
    load: async () => (await import('./agents.js')).agents,
  },
  doctor: {
    summary: 'check the installation and suggest fixes',
    load: async () => (await import('./doctor/doctor.js')).doctor,
  },
  backup: {
    summary: "write the daemon's data into one archive, also while it runs",
    load: async () => (await import('./backup.js')).backup,
  },
  restore: {
    summary: "replace the daemon's data with a backup",
    load: async () => (await import('./restore.js')).restore,
  },
  migrate: {
    summary: 'copy a data folder into a PostgreSQL database',
    load: async () => (await import('./migrate.js')).migrate,
  },
  completion: {
    summary: 'print the script that completes commands in bash, zsh or fish',
    load: async () => (await import('./completion.js')).completionOf(COMMANDS),
  },
  replay: {
    summary: "replay a session's event log, with the same or other settings",
    load: async () => (await import('./replay.js')).replay,
  },
};
