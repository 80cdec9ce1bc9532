import FoundationEssentials
import Gateway
import Settings

extension ConfigurationLoader.File {
    /// Reads the file of `--config`; nil without one.
    init?(path: String?) throws(ConfigurationFaults) {
        guard let path else { return nil }
        do {
            self.init(name: path, text: try String(contentsOfFile: path, encoding: .utf8))
        } catch {
            let exists = FileManager.default.fileExists(atPath: path)
            throw ConfigurationFaults([
                ConfigurationFault(
                    key: "--config", value: path,
                    what: exists ? "cannot be read as UTF-8 text" : "there is no such file")
            ])
        }
    }
}
