import { ParleyError } from '../../base/errors.js';
import type { SteeredSession } from '../../session/steered-session.js';
import type { Settings } from '../../settings/settings.js';
import type { CallStore } from '../../store/calls.js';

/** Which calls may be listened to, and what their users are told first. */
export class ListeningRules {
  readonly #settings: Pick<Settings, 'listening' | 'listeningAnnouncement'>;
  readonly #calls: Pick<CallStore, 'get'>;
  /** Sessions whose user was told. */
  readonly #told = new WeakMap<object, Promise<void>>();

  constructor(settings: Pick<Settings, 'listening' | 'listeningAnnouncement'>, calls: Pick<CallStore, 'get'>) {
    this.#settings = settings;
    this.#calls = calls;
  }

  /** @throws ParleyError LISTENING_REFUSED */
  async check(sessionId: string): Promise<void> {
    if (!this.#settings.listening) {
      throw new ParleyError('LISTENING_REFUSED', { reason: 'the operator has switched it off' });
    }
    const config = (await this.#calls.get(sessionId))?.item.agent_config;
    if (config === undefined || config.privacy_settings?.opt_out_data_collection === true) {
      throw new ParleyError('LISTENING_REFUSED', { reason: 'its agent opts out of data collection' });
    }
  }

  /**
   * Tells the user, once for each call. Resolves when they have heard it.
   * @throws ParleyError LISTENING_REFUSED, COMMAND_REFUSED, SESSION_CLOSED
   */
  async announce(session: Pick<SteeredSession, 'say'>): Promise<void> {
    const { listeningAnnouncement } = this.#settings;
    if (listeningAnnouncement === null) return;
    const before = this.#told.get(session) ?? tell(session, listeningAnnouncement);
    this.#told.set(session, before);
    before.catch(() => this.#told.delete(session)); // another listener may try again
    await before;
  }
}

/** Who may not be told is not listened to. */
async function tell(session: Pick<SteeredSession, 'say'>, text: string): Promise<void> {
  const { complete } = await session.say(text, { interruptible: false });
  if (!complete) throw new ParleyError('LISTENING_REFUSED', { reason: 'the caller could not be told' });
}
