/** A task that users of a client can start, such as with a slash command. */
interface McpPrompt {
  name: string;
  title: string;
  description: string;
  arguments: readonly { name: string; description: string; required: boolean }[];
  /** The user's message. */
  text: (values: Readonly<Record<string, string>>) => string;
}

const agentId = { name: 'agent_id', description: 'The id of the agent', required: true };

const PROMPTS: readonly McpPrompt[] = [
  {
    name: 'review_call',
    title: 'Review a call',
    description: 'What went well and badly in a call, and what the agent should do differently',
    arguments: [{ name: 'session_id', description: 'The id of the session', required: true }],
    text: ({ session_id: id = '' }) =>
      `Review the call ${id}. Read it with get_call_log and get_transcript, and its agent with get_agent. Say what the ` +
      'caller wanted and whether they got it. Quote the places where the agent misunderstood, was slow (times in ' +
      'milliseconds are in call_metrics), talked over the caller or used a tool wrongly. Propose changes of the ' +
      "agent's configuration, smallest first. Change nothing yet.",
  },
  {
    name: 'improve_agent',
    title: 'Improve an agent from its calls',
    description: 'Finds what goes wrong in the latest calls of an agent and proposes a new version',
    arguments: [
      agentId,
      { name: 'goal', description: 'What should get better. Default: what fails most', required: false },
    ],
    text: ({ agent_id: id = '', goal = 'what fails most often' }) =>
      `Improve the agent ${id}. Goal: ${goal}. Read it with get_agent, its latest calls with list_call_logs and the ` +
      'transcripts of those that failed or were long with get_transcript. Name the causes with quotes. Write a new ' +
      'configuration (the resource parley://schemas/agent has its JSON Schema), check it with check_agent, and show the ' +
      'difference. If the agent has test suites (list_eval_suites), say which cases the change could break. Store it ' +
      'with update_agent only after I agree, then run the suites with start_eval_run and compare.',
  },
  {
    name: 'write_eval_suite',
    title: 'Write a test suite for an agent',
    description: 'Test cases for what the agent promises, and for callers who make it hard',
    arguments: [agentId],
    text: ({ agent_id: id = '' }) =>
      `Write a test suite for the agent ${id}. Read it with get_agent and the rules of suites in ` +
      'parley://schemas/eval-suite and parley://docs/evals. Cover what its prompt promises, each of its tools, and ' +
      'callers who are unclear, interrupt, change their minds or ask for what it must refuse. Show me the cases, then ' +
      'store the suite with create_eval_suite, run it with start_eval_run, wait for it with get_eval_run, and explain ' +
      'each failure: is it the agent or the case?',
  },
];

/** As `prompts/list` shows them. */
export function listedPrompts(): readonly Omit<McpPrompt, 'text'>[] {
  return PROMPTS.map(({ text: _text, ...prompt }) => prompt);
}

/** The messages of a prompt; a text = what is wrong with the request. */
export function promptMessages(
  name: string,
  values: Readonly<Record<string, unknown>>,
): string | { description: string; messages: readonly object[] } {
  const prompt = PROMPTS.find((one) => one.name === name);
  if (prompt === undefined) return `there is no prompt ${name}`;
  const missing = prompt.arguments.find(({ name: of, required }) => required && !isText(values[of]));
  if (missing !== undefined) return `the argument ${missing.name} is missing`;
  const texts = Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => isText(entry[1])),
  );
  const content = { type: 'text', text: prompt.text(texts) };
  return { description: prompt.description, messages: [{ role: 'user', content }] };
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
