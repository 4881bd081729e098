/**
 * The dialogs that are open. What fails in one is said in it: a toast lies behind its backdrop, and a click there would close
 * the dialog.
 */

interface OpenDialog {
  /** Show why something failed; `undefined` shows nothing any more. */
  showFailure: (error: unknown) => void;
}

let dialogs: readonly OpenDialog[] = [];

/** Count a dialog among those that are open, until the returned function is called. */
export function addOpenDialog(dialog: OpenDialog): () => void {
  dialogs = [...dialogs, dialog];
  return () => {
    dialogs = dialogs.filter((other) => other !== dialog);
  };
}

/** Return a function that shows a failure in the dialog that is open now, and returns whether it still is. */
export function prepareFailure(): (error: unknown) => boolean {
  const dialog = dialogs.at(-1);
  dialog?.showFailure(undefined);
  return (error) => {
    if (dialog === undefined || !dialogs.includes(dialog)) return false;
    dialog.showFailure(error);
    return true;
  };
}
