import FoundationEssentials
import Glibc

/// `accounts.json`: readable by the server's user only, and replaced as a whole.
struct AccountFile: Sendable {
    let directory: String
    var path: String { directory + "/accounts.json" }

    /// A sentence with the file, the fault and the remedy.
    struct Fault: Error, Equatable, Sendable {
        var message: String
    }

    /// The most bytes that are read: 10,000 accounts have 20 MB.
    private static let maxBytes = 64 << 20

    /// Reads the accounts; none while there is no file.
    func read() throws(Fault) -> AccountBook {
        guard access(path, F_OK) == 0 || errno != ENOENT else { return AccountBook() }
        guard let data = FileManager.default.contents(atPath: path), data.count <= AccountFile.maxBytes else {
            throw Fault(message: "\(path) cannot be read: make it readable for the server's user")
        }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        do {
            return try decoder.decode(AccountBook.self, from: data)
        } catch {
            throw Fault(message: "\(path) is damaged (\(JSON.explain(error))): restore it, or move it away")
        }
    }

    /// Writes the accounts into a new file, which then takes the place of the old one.
    func write(_ book: AccountBook) throws(Fault) {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys]
        guard let data = try? encoder.encode(book) else { throw Fault(message: "the accounts cannot be encoded") }
        try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let temporary = path + ".new"
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw fault(temporary) }
        let isWritten = data.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let count = Glibc.write(file, bytes.baseAddress.map { $0 + offset }, bytes.count - offset)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { return false }
                offset += count
            }
            return fsync(file) == 0
        }
        let error = errno
        close(file)
        guard isWritten, rename(temporary, path) == 0 else {
            let failure = isWritten ? errno : error
            unlink(temporary)
            errno = failure
            throw fault(path)
        }
    }

    private func fault(_ path: String) -> Fault {
        Fault(message: "\(path) cannot be written: \(String(cString: strerror(errno))) (doors.directory)")
    }
}
