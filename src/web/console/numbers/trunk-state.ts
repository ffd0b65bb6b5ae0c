/** A SIP trunk, from `GET /trunks`. */
export interface TrunkAnswer {
  name: string;
  numbers: readonly string[];
  calls: number;
  registration: {
    state: 'registering' | 'registered' | 'failed' | 'standby' | 'ended';
    reason: string | null;
  } | null;
  servers: readonly {
    address: string;
    answers: boolean | null;
    last_answer_at: number | null;
    last_status: number | null;
  }[];
  refused: readonly { status: number; count: number }[];
}

type Look = '' | 'failed' | 'running';

/** The state of a trunk in a word: of its registration, or whether a server answers. */
export function trunkState({
  registration,
  servers,
}: Pick<TrunkAnswer, 'registration' | 'servers'>): readonly [string, Look] {
  if (registration?.state === 'failed') return ['not registered', 'failed'];
  if (registration?.state === 'registering') return ['registering', 'running'];
  if (registration?.state === 'ended') return ['registration ended', 'failed'];
  const isSilent = servers.length > 0 && servers.every(({ answers }) => answers === false);
  if (isSilent) return ['no answer', 'failed'];
  if (registration?.state === 'standby') return ['registered by another node', ''];
  if (registration !== null) return ['registered', ''];
  return servers.some(({ answers }) => answers === true) ? ['answers', ''] : ['not checked yet', ''];
}
