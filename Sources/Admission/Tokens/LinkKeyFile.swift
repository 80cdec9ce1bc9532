import Basics
import Cryptography
import Glibc
package import Logging

/// The secret of recordings' links and keys where the settings have no tokens: a file, so that what hosts keep outlives
/// the process.
package enum LinkKeyFile {
    private static let length = 32
    private static let name = "/recordings.key"

    /// - Parameters:
    ///   - directory: `doors.directory`.
    /// - Returns: nil, with a line in the log, where the file can be neither read nor written.
    package static func secret(in directory: String, logger: Logger) -> [UInt8]? {
        let path = directory + name
        if let known = read(path) { return known }
        let made = randomBytes(length)
        // Another process may make it at the same time: the first one counts.
        mkdir(directory, 0o700)
        do throws(WholeFile.Fault) {
            try WholeFile.make(path, with: made, mode: 0o600)
            return made
        } catch {
            if error.code == EEXIST, let known = read(path) { return known }
        }
        logger.warning(
            "Links to recordings end with this process: their key cannot be stored. Make the folder of doors.directory writable, or set auth.adminToken",
            metadata: ["file": "\(path)"])
        return nil
    }

    private static func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: length)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
        return count == length ? bytes : nil
    }
}
