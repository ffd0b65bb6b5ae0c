import { CallButton, Orb, ParleyProvider, Transcript, useCall } from '@parley-voice/react';
import '@parley-voice/react/style.css';
import type { FormEvent, ReactElement } from 'react';

export function CallPage(agent: { baseUrl: string; publicKey: string; agentId: string }): ReactElement {
  return (
    <ParleyProvider {...agent}>
      <Orb label="The Crooked Fork" />
      <CallButton />
      <Transcript agentName="Olive" empty="Ask for a table." />
      <Controls />
    </ParleyProvider>
  );
}

function Controls(): ReactElement {
  const { muted, mute, sendText, error } = useCall();
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    sendText(new FormData(event.currentTarget).get('text') as string);
    event.currentTarget.reset();
  };
  return (
    <>
      <button onClick={() => mute(!muted)}>{muted ? 'Unmute' : 'Mute'}</button>
      <form onSubmit={send}>
        <input name="text" aria-label="Message" autoComplete="off" />
      </form>
      {error !== null && <p role="alert">{error.message}</p>}
    </>
  );
}
