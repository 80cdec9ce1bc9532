import Basics
import Conference

/// The defaults that the help of `tessera serve` shows.
package struct ShownDefaults: Sendable {
    package let listen: String
    package let media: String
    package let layouts: String
    package let recordings: String

    package init() {
        let defaults = TesseraConfiguration()
        listen = defaults.http.listen.description
        media = defaults.media.listen.description
        layouts = defaults.layouts.directory
        recordings = defaults.recording.files.directory
    }
}
