// SPDX-License-Identifier: Apache-2.0
/** Imported before everything else: while the elements are set up, the engine and the model are on their way. */
import { sharedModel } from "../elements/engine.js";

sharedModel("tiny").catch(() => undefined); // the elements ask again, and say what is wrong
