/**
 * One submission at a time: what is pressed or clicked again before the answer is there does nothing. What is typed
 * meanwhile is for what comes after the form, and waits for it.
 */

import { useRef, useState } from "preact/hooks";

import { dropKeys, holdKeys } from "../early-keys.js";

interface Submission {
  /** For the button, which shows that the form is being sent. */
  isBusy: boolean;
  /** Do something that returns whether it was done. */
  submit: (action: () => Promise<boolean>) => Promise<void>;
}

/** `isKept`: the form is still there when it was sent, so keys go on working. */
export function useSubmission({ isKept = false } = {}): Submission {
  const [isBusy, setBusy] = useState(false);
  // The state is only known after the next rendering, and a second key may come before.
  const isSending = useRef(false);
  const submit = async (action: () => Promise<boolean>) => {
    if (isSending.current) return;
    isSending.current = true;
    setBusy(true);
    const release = isKept ? undefined : holdKeys(document.activeElement);
    let isDone = false;
    try {
      isDone = await action();
    } finally {
      isSending.current = false;
      setBusy(false);
      if (release !== undefined && !isDone) dropKeys();
      release?.();
    }
  };
  return { isBusy, submit };
}
