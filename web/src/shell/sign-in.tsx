/** The screen of somebody whom the gateway does not know. */

import { useState } from "preact/hooks";

import { session, signIn, startSession } from "../data/session.js";
import { useSubmission } from "../ui/submission.js";
import { describeError } from "../ui/text.js";

export function SignIn() {
  const state = session.value;
  const [error, setError] = useState<string | undefined>(undefined);
  const { isBusy, submit } = useSubmission({ isKept: true });

  const send = async (form: HTMLFormElement) => {
    const link = new FormData(form).get("link");
    if (typeof link !== "string" || link.trim() === "") return;
    await submit(async () => {
      try {
        await signIn(link);
        return true;
      } catch (failure) {
        setError(describeError(failure));
        return false;
      }
    });
  };

  if (state.status === "unreachable") {
    return (
      <main class="sign-in">
        <h1>The gateway does not answer</h1>
        <p class="text muted">{describeError(new Error(state.reason))}</p>
        <p>
          Start it with <code>gatepost up</code>, then try again.
        </p>
        <button class="button primary" onClick={() => void startSession()}>
          Try again
        </button>
      </main>
    );
  }
  const reason = error ?? (state.status === "signed-out" ? state.reason : undefined);
  return (
    <main class="sign-in">
      <h1>Sign in to Gatepost</h1>
      {reason !== undefined && (
        <p class="notice danger text" role="alert">
          {reason.charAt(0).toUpperCase() + reason.slice(1)}
        </p>
      )}
      <p>
        Open the link that <code>gatepost up</code> or <code>gatepost sign-in</code> prints, or paste it here. A link works once.
      </p>
      <form
        class="stack gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          void send(event.currentTarget);
        }}
      >
        <label class="label">
          Sign-in link
          <input class="field" name="link" type="text" autoComplete="off" spellcheck={false} placeholder={`${location.origin}/sign-in#…`} autoFocus />
        </label>
        <button class="button primary" disabled={isBusy}>
          {isBusy ? "Signing in …" : "Sign in"}
        </button>
      </form>
    </main>
  );
}
