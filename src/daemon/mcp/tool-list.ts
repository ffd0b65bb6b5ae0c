/** An endpoint as a tool. */
export interface ListedTool {
  /** The operation id of the endpoint. The tool has it in lower case with underscores. */
  operation: string;
  title: string;
  /** What the summary of the endpoint leaves out. */
  note?: string;
  /** Members of the answer, at any depth, that take much room and that other tools have. */
  without?: readonly string[];
  /** Whether it may delete or end something. Default: DELETE does. */
  isDestructive?: boolean;
  /** Whether a repetition changes nothing more. Default: all but POST. */
  isIdempotent?: boolean;
  /** Whether it reaches people outside, as phone calls do. Default no. */
  isOutside?: boolean;
}

const agents: readonly ListedTool[] = [
  { operation: 'listAgents', title: 'List agents', without: ['config'] },
  { operation: 'getAgent', title: 'Show an agent' },
  { operation: 'checkAgent', title: 'Check an agent' },
  { operation: 'createAgent', title: 'Create an agent', note: 'Check it first.' },
  { operation: 'updateAgent', title: 'Change an agent', note: 'Earlier versions stay and can be restored.' },
  { operation: 'duplicateAgent', title: 'Copy an agent' },
  { operation: 'setAgentStatus', title: 'Enable or disable an agent', isIdempotent: true },
  { operation: 'listAgentVersions', title: 'List the versions of an agent', without: ['config', 'script'] },
  { operation: 'restoreAgentVersion', title: 'Restore a version of an agent', isIdempotent: true },
  { operation: 'deleteAgent', title: 'Delete an agent' },
];

const calls: readonly ListedTool[] = [
  {
    operation: 'startOutboundCall',
    title: 'Place a call',
    note: 'It calls a real number, unless that is of the simulated network. Poll get_call_log until call_status says that it has ended.',
    isOutside: true,
  },
  { operation: 'listLiveCalls', title: 'List calls that go on' },
  {
    operation: 'listCallLogs',
    title: 'Search the call log',
    note: 'get_call_log and get_transcript show one call.',
    without: ['agent_config', 'chat', 'carrier_call_log', 'function_calls'],
  },
  {
    operation: 'getCallLog',
    title: 'Show a call',
    note: 'Its facts, metrics, tool calls and costs. get_transcript has its words with times.',
    without: ['agent_config', 'chat'],
  },
  { operation: 'getTranscript', title: 'Show the transcript of a call' },
  { operation: 'terminateSession', title: 'End a call', isDestructive: true, isIdempotent: true },
  { operation: 'getCallGuards', title: 'Show the limits of outbound calls' },
  { operation: 'stopCalls', title: 'Stop all outbound calls', isDestructive: true, isIdempotent: true },
  { operation: 'resumeCalls', title: 'Allow outbound calls again', isIdempotent: true },
  { operation: 'simulateCall', title: 'Let a simulated caller call a number' },
];

const phones: readonly ListedTool[] = [
  { operation: 'listPhones', title: 'List phone numbers', without: ['agent_config_override'] },
  { operation: 'getPhone', title: 'Show a phone number' },
  { operation: 'setPhoneAgent', title: 'Set the agent of a phone number', isIdempotent: true },
];

const campaigns: readonly ListedTool[] = [
  { operation: 'listCampaigns', title: 'List campaigns', without: ['agent_config_override'] },
  { operation: 'getCampaign', title: 'Show a campaign' },
  { operation: 'listRecords', title: 'List the people of a campaign' },
  { operation: 'startCampaign', title: 'Start a campaign', isIdempotent: true, isOutside: true },
  { operation: 'stopCampaign', title: 'Stop a campaign', isIdempotent: true },
];

const knowledge: readonly ListedTool[] = [
  { operation: 'listFiles', title: 'List knowledge files' },
  { operation: 'getAgentFiles', title: 'Show the knowledge files of an agent' },
  { operation: 'setAgentFiles', title: 'Set the knowledge files of an agent', isIdempotent: true },
  { operation: 'deleteFile', title: 'Delete a knowledge file', isDestructive: true },
];

const evals: readonly ListedTool[] = [
  { operation: 'listEvalSuites', title: 'List test suites' },
  { operation: 'getEvalSuite', title: 'Show a test suite' },
  { operation: 'createEvalSuite', title: 'Create a test suite' },
  { operation: 'updateEvalSuite', title: 'Change a test suite' },
  { operation: 'makeEvalCase', title: 'Make a test case of a call' },
  { operation: 'addEvalCase', title: 'Add a test case to a suite' },
  {
    operation: 'startEvalRun',
    title: 'Run a test suite',
    note: 'Poll get_eval_run until status is done, failed or canceled.',
  },
  { operation: 'listEvalRuns', title: 'List test runs' },
  { operation: 'getEvalRun', title: 'Show a test run with its results' },
  { operation: 'cancelEvalRun', title: 'Cancel a test run', isDestructive: true, isIdempotent: true },
];

/** The endpoints that are tools, in the order in which clients see them. */
export const TOOLS: readonly ListedTool[] = [...agents, ...calls, ...phones, ...campaigns, ...knowledge, ...evals];
