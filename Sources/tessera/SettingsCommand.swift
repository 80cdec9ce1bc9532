import ArgumentParser
import CSettings

/// The file of settings that the Debian package installs, which has every key with its default.
struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings", abstract: "Prints every setting with its default, as a file to start from.",
        discussion: """
            tessera settings > tessera.yaml, then remove the # before what you change, and that of its section, and start \
            with tessera serve --config tessera.yaml. The names in the environment are TESSERA_ and the key in capitals \
            with _, e.g. TESSERA_HTTP_LISTEN.
            """)

    func run() {
        print(
            String(decoding: UnsafeBufferPointer(start: settings_text(), count: settings_count()), as: UTF8.self),
            terminator: "")
    }
}
