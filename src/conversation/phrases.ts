import { baseLanguage } from './words.js';

/** What the agent says of its own accord, without the model. */
export interface Phrases {
  /** While a stage stalls. */
  fillers: readonly string[];
  /** The model failed or gave nothing. */
  fallback: string;
  /** The model keeps failing: the call ends. */
  givingUp: string;
  goodbye: string;
  stillThere: string;
  timeout: string;
}

const ENGLISH: Phrases = {
  fillers: ['Let me see.', 'One moment, please.', 'Just a second.'],
  fallback: "I'm sorry, I had trouble there. Could you say that again?",
  givingUp: "I'm sorry, something is wrong on my side. Please call again later. Goodbye.",
  goodbye: 'Goodbye.',
  stillThere: 'Are you still there?',
  timeout: 'We have to stop here. Goodbye.',
};

const BY_LANGUAGE: Readonly<Record<string, Phrases>> = {
  en: ENGLISH,
  de: {
    fillers: ['Moment bitte.', 'Ich schaue kurz nach.', 'Einen Augenblick.'],
    fallback: 'Entschuldigung, da ist etwas schiefgegangen. Können Sie das bitte wiederholen?',
    givingUp: 'Es tut mir leid, bei mir stimmt etwas nicht. Bitte rufen Sie später noch einmal an. Auf Wiederhören.',
    goodbye: 'Auf Wiederhören.',
    stillThere: 'Sind Sie noch da?',
    timeout: 'Wir müssen hier leider enden. Auf Wiederhören.',
  },
  fr: {
    fillers: ['Un instant.', 'Je regarde.', 'Une seconde, je vous prie.'],
    fallback: "Excusez-moi, j'ai eu un problème. Pouvez-vous répéter ?",
    givingUp: "Je suis désolé, j'ai un problème technique. Rappelez plus tard, s'il vous plaît. Au revoir.",
    goodbye: 'Au revoir.',
    stillThere: 'Êtes-vous toujours là ?',
    timeout: 'Nous devons nous arrêter ici. Au revoir.',
  },
  es: {
    fillers: ['Un momento.', 'Déjeme ver.', 'Un segundo, por favor.'],
    fallback: 'Perdone, he tenido un problema. ¿Puede repetirlo?',
    givingUp: 'Lo siento, tengo un problema técnico. Llame más tarde, por favor. Adiós.',
    goodbye: 'Adiós.',
    stillThere: '¿Sigue ahí?',
    timeout: 'Tenemos que terminar aquí. Adiós.',
  },
  it: {
    fillers: ['Un momento.', 'Vediamo.', 'Un attimo, per favore.'],
    fallback: 'Mi scusi, ho avuto un problema. Può ripetere?',
    givingUp: 'Mi dispiace, ho un problema tecnico. Richiami più tardi, per favore. Arrivederci.',
    goodbye: 'Arrivederci.',
    stillThere: 'È ancora in linea?',
    timeout: 'Dobbiamo fermarci qui. Arrivederci.',
  },
  pt: {
    fillers: ['Um momento.', 'Deixe-me ver.', 'Só um segundo.'],
    fallback: 'Desculpe, tive um problema. Pode repetir?',
    givingUp: 'Desculpe, estou com um problema técnico. Ligue mais tarde, por favor. Adeus.',
    goodbye: 'Adeus.',
    stillThere: 'Ainda está aí?',
    timeout: 'Temos de terminar aqui. Adeus.',
  },
  nl: {
    fillers: ['Een moment.', 'Even kijken.', 'Een ogenblik, alstublieft.'],
    fallback: 'Sorry, er ging iets mis. Kunt u dat herhalen?',
    givingUp: 'Het spijt me, er is bij mij iets mis. Bel later nog eens. Tot ziens.',
    goodbye: 'Tot ziens.',
    stillThere: 'Bent u er nog?',
    timeout: 'We moeten hier stoppen. Tot ziens.',
  },
};

/** Phrases of a language; English where there are none. */
export function phrasesFor(language: string): Phrases {
  return BY_LANGUAGE[baseLanguage(language)] ?? ENGLISH;
}
