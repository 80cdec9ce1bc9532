import FoundationEssentials
import Glibc

/// The folder of the chats' pictures: one file for each, named by the picture's id. Files of other names are left
/// alone. Every call reads or writes the disk, and may take as long as the disk does.
struct PictureFolder: Sendable {
    /// Why the folder cannot be used: the system's word, for the log and for the sender of the picture.
    struct Fault: Error, Equatable {
        var reason: String
    }

    /// The least that a file takes of the quota, as on the disk: a million tiny files are no tiny folder.
    static let block = 4096

    let path: String
    /// The most bytes of all files together, each rounded up to whole blocks.
    let quota: Int
    /// The pictures, the oldest first.
    private var files: [File] = []
    private(set) var bytes = 0
    private var isRead = false

    private struct File {
        var name: String
        var bytes: Int
    }

    init(path: String, quota: Int) {
        self.path = path
        self.quota = quota
    }

    /// The bytes of the quota that a picture of that size takes.
    static func cost(of bytes: Int) -> Int { (max(bytes, 1) + block - 1) / block * block }

    // MARK: - Reading

    /// Counts the pictures of former runs, and removes those that a crash left incomplete. The first call does; a
    /// missing folder holds none.
    mutating func readOnce() {
        if isRead { return }
        isRead = true
        var found: [(file: File, at: timespec)] = []
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
            if name.hasSuffix(Self.part), ChatPicture.Format(id: String(name.dropLast(Self.part.count))) != nil {
                unlink(path + "/" + name)
                continue
            }
            var status = stat()
            guard ChatPicture.Format(id: name) != nil, lstat(path + "/" + name, &status) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            found.append((File(name: name, bytes: Self.cost(of: Int(status.st_size))), status.st_mtim))
        }
        found.sort { ($0.at.tv_sec, $0.at.tv_nsec) < ($1.at.tv_sec, $1.at.tv_nsec) }
        files = found.map(\.file)
        bytes = files.reduce(0) { $0 + $1.bytes }
    }

    /// The bytes of a picture; nil if there is no such picture (any more).
    func read(_ id: String) -> [UInt8]? {
        guard ChatPicture.Format(id: id) != nil else { return nil }
        return (try? Data(contentsOf: URL(fileURLWithPath: path + "/" + id))).map { Array($0) }
    }

    // MARK: - Writing

    private static let part = ".part"

    /// Writes a picture, after the oldest ones were deleted for which the quota has no room beside it.
    ///
    /// - Returns: the number of deleted pictures.
    mutating func add(_ picture: [UInt8], as name: String) throws(Fault) -> Int {
        readOnce()
        try makeFolder()
        let cost = Self.cost(of: picture.count)
        let deleted = try makeRoom(for: cost)
        try write(picture, name)
        files.append(File(name: name, bytes: cost))
        bytes += cost
        return deleted
    }

    private func makeFolder() throws(Fault) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            let code = ((error as? CocoaError)?.underlying as? POSIXError)?.code
            throw code.map { Fault($0.rawValue) } ?? Fault(reason: "\(path) cannot be created")
        }
    }

    private mutating func makeRoom(for cost: Int) throws(Fault) -> Int {
        var gone = 0
        var fault: Fault?
        while gone < files.count, bytes + cost > quota {
            guard unlink(path + "/" + files[gone].name) == 0 || errno == ENOENT else {
                fault = Fault(errno)
                break
            }
            bytes -= files[gone].bytes
            gone += 1
        }
        files.removeFirst(gone)
        if let fault { throw fault }
        return gone
    }

    /// Writes the file under another name first, so that nobody reads half a picture.
    private func write(_ picture: [UInt8], _ name: String) throws(Fault) {
        let (file, unfinished) = (path + "/" + name, path + "/" + name + Self.part)
        let descriptor = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Fault(errno) }
        var fault: Fault?
        var rest = picture[...]
        while fault == nil, !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                fault = Fault(errno)
            }
        }
        if close(descriptor) != 0, fault == nil { fault = Fault(errno) }
        if fault == nil, rename(unfinished, file) != 0 { fault = Fault(errno) }
        guard let fault else { return }
        unlink(unfinished)
        throw fault
    }
}

extension PictureFolder.Fault {
    fileprivate init(_ code: Int32) { self.init(reason: String(cString: strerror(code))) }
}
