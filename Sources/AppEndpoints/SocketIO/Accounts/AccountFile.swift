import Basics
import FoundationEssentials
import Glibc
import WebServer

/// `accounts.json`, and `accounts.journal` with the changes since it was written: both readable by the server's user
/// only. A change costs a line of the journal; now and then the file is replaced as a whole, and the journal begins anew.
struct AccountFile: Sendable {
    let directory: String
    var path: String { directory + "/accounts.json" }
    var journal: String { directory + "/accounts.journal" }

    /// A sentence with the file, the fault and the remedy.
    struct Fault: Error, Equatable, Sendable {
        var message: String
    }

    /// The most bytes that are read: 10,000 accounts have 20 MB.
    private static let maxBytes = 64 << 20

    /// Reads the accounts, with the changes of the journal; none while there are no files.
    func read() throws(Fault) -> AccountBook {
        var book = try readFile()
        guard access(journal, F_OK) == 0 || errno != ENOENT else { return book }
        guard let data = FileManager.default.contents(atPath: journal), data.count <= AccountFile.maxBytes else {
            throw Fault(message: "\(journal) cannot be read: make it readable for the server's user")
        }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        var changes: [AccountBook.Change] = []
        let lines = data.split(separator: UInt8(ascii: "\n"))
        for (number, line) in lines.enumerated() {
            guard let change = try? decoder.decode(AccountBook.Change.self, from: Data(line)) else {
                // A crash leaves the last line incomplete. Its client has no answer.
                if number == lines.count - 1, data.last != UInt8(ascii: "\n") { break }
                throw Fault(message: "\(journal) is damaged in line \(number + 1): restore it, or move it away")
            }
            changes.append(change)
        }
        book.apply(changes)
        return book
    }

    private func readFile() throws(Fault) -> AccountBook {
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

    /// Writes the accounts into a new file, which then takes the place of the old one. The journal begins anew; changes
    /// that a crash leaves in it are in the file too.
    func write(_ book: AccountBook) throws(Fault) {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys]
        guard let data = try? encoder.encode(book) else { throw Fault(message: "the accounts cannot be encoded") }
        makeFolder()
        do throws(WholeFile.Fault) {
            try WholeFile.replace(path, with: data, mode: 0o600)
        } catch {
            throw fault(path, "\(error)")
        }
        unlink(journal)
    }

    /// Adds changes to the journal. Returns its size.
    func append(_ changes: [AccountBook.Change]) throws(Fault) -> Int {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys]
        var data = Data()
        for change in changes {
            guard let line = try? encoder.encode(change) else { throw Fault(message: "a change cannot be encoded") }
            data += line
            data.append(UInt8(ascii: "\n"))
        }
        return try append(data)
    }

    private func makeFolder() {
        try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    /// Returns the journal's size. What was written in part is taken back.
    private func append(_ data: Data) throws(Fault) -> Int {
        makeFolder()
        let file = open(journal, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0o600)
        guard file >= 0 else { throw fault(journal, String(cString: strerror(errno))) }
        defer { close(file) }
        let before = lseek(file, 0, SEEK_END)
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
        if isWritten { return Int(before) + data.count }
        let reason = String(cString: strerror(errno))
        ftruncate(file, before)
        throw fault(journal, reason)
    }

    private func fault(_ path: String, _ reason: String) -> Fault {
        Fault(message: "\(path) cannot be written: \(reason) (doors.directory)")
    }
}
