import FoundationEssentials
import Glibc

/// What stands behind the standard output.
package struct Terminal: Sendable {
    var isTerminal: Bool
    /// Whether it shows block elements and colours.
    var showsPictures: Bool
    package var columns: Int

    package init(isTerminal: Bool, showsPictures: Bool, columns: Int) {
        self.isTerminal = isTerminal
        self.showsPictures = showsPictures
        self.columns = columns
    }

    package static func ofOutput(environment: [String: String] = ProcessInfo.processInfo.environment) -> Terminal {
        var window = winsize()
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let isKnown = isTerminal && ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0
        return Terminal(
            isTerminal: isTerminal, showsPictures: isTerminal && showsPictures(environment),
            columns: isKnown ? Int(window.ws_col) : 0)
    }

    /// Where no locale is set, as in containers, the terminal outside is of today.
    static func showsPictures(_ environment: [String: String]) -> Bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty }
        let encoding = locale?.lowercased().replacing("-", with: "")
        return environment["TERM"] != "dumb" && encoding?.contains("utf8") != false
    }
}
