import type Database from 'better-sqlite3';

/** A custom voice: a provider's voice with its own name, model and settings. */
export interface StoredVoice {
  provider: string;
  /** The id that agents use. */
  voiceId: string;
  /** The id of the provider's voice. */
  baseVoiceId: string;
  name: string;
  /** Null = the provider's. */
  model: string | null;
  settings: Readonly<Record<string, unknown>>;
  /** A code of the API's language list; null = the language of the provider's voice. */
  language: string | null;
  category: string | null;
  /** Factor on the provider's price. */
  multiplier: number;
  /** Unix seconds. */
  createdAt: number;
}

interface Row {
  provider: string;
  voice_id: string;
  base_voice_id: string;
  name: string;
  model: string | null;
  settings: string;
  language: string | null;
  category: string | null;
  multiplier: number;
  created_at: number;
}

/** The custom voices. All are in memory, because sessions look them up. */
export class VoiceStore {
  readonly #put: Database.Statement<unknown[]>;
  readonly #remove: Database.Statement<unknown[]>;
  readonly #voices: Map<string, StoredVoice>;

  constructor(database: Database.Database) {
    this.#put = database.prepare(
      `INSERT INTO custom_voices
         (provider, voice_id, base_voice_id, name, model, settings, language, category, multiplier, created_at)
       VALUES
         (@provider, @voiceId, @baseVoiceId, @name, @model, @settings, @language, @category, @multiplier, @createdAt)
       ON CONFLICT (provider, voice_id) DO UPDATE SET
         base_voice_id = @baseVoiceId, name = @name, model = @model, settings = @settings, language = @language,
         category = @category, multiplier = @multiplier`,
    );
    this.#remove = database.prepare('DELETE FROM custom_voices WHERE provider = ? AND voice_id = ?');
    const all = database.prepare<unknown[], Row>('SELECT * FROM custom_voices ORDER BY created_at, rowid').all();
    this.#voices = new Map(all.map(stored).map((voice) => [keyOf(voice.provider, voice.voiceId), voice]));
  }

  /** Null = there is no custom voice with this name. */
  find(provider: string, voiceId: string): StoredVoice | null {
    return this.#voices.get(keyOf(provider, voiceId)) ?? null;
  }

  /** In the order of creation. */
  list(): StoredVoice[] {
    return [...this.#voices.values()];
  }

  /** 1 = the voice is not a custom one. */
  readonly multiplierOf = (provider: string, voiceId: string): number => this.find(provider, voiceId)?.multiplier ?? 1;

  /** Adds a voice, or changes the one with its name. Returns the stored voice. */
  put(voice: StoredVoice): StoredVoice {
    const createdAt = this.find(voice.provider, voice.voiceId)?.createdAt ?? voice.createdAt;
    const kept = { ...voice, createdAt };
    this.#put.run({ ...kept, settings: JSON.stringify(kept.settings) });
    this.#voices.set(keyOf(kept.provider, kept.voiceId), kept);
    return kept;
  }

  /** Returns whether the voice existed. */
  remove(provider: string, voiceId: string): boolean {
    this.#voices.delete(keyOf(provider, voiceId));
    return this.#remove.run(provider, voiceId).changes > 0;
  }
}

function keyOf(provider: string, voiceId: string): string {
  return JSON.stringify([provider, voiceId]);
}

function stored(row: Row): StoredVoice {
  const { provider, name, model, language, category, multiplier } = row;
  return {
    provider,
    name,
    model,
    language,
    category,
    multiplier,
    voiceId: row.voice_id,
    baseVoiceId: row.base_voice_id,
    settings: JSON.parse(row.settings) as Record<string, unknown>,
    createdAt: row.created_at,
  };
}
