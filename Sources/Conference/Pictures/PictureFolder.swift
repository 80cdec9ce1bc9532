import Basics
import FoundationEssentials
import Glibc

/// The folder of the chats' pictures: one file for each, named by the picture's id. Files of other names are left
/// alone. Every call reads or writes the disk, and may take as long as the disk does.
///
/// The pictures of one meeting, and those of one address, have a tenth of the quota each. What exceeds it is deleted
/// among its own, the oldest first; and where all together exceed the quota, the oldest of the address that has most.
/// So nobody's pictures go for those of others who have more.
struct PictureFolder: Sendable {
    /// Why the folder cannot be used: the system's word, for the log and for the sender of the picture.
    struct Fault: Error, Equatable {
        var reason: String
    }

    /// The least that a file takes of the quota, as on the disk: a million tiny files are no tiny folder.
    static let block = 4096

    /// How long a picture stays that no chat has sent.
    static let unsentLife = Duration.seconds(60)
    /// How long pictures stay when their meeting is over: somebody may be reading the last one. A meeting that has
    /// moved to another server is over for this one.
    static let pastMeetingLife = Duration.seconds(600)
    /// How long a picture stays that was sent from person to person.
    static let personalLife = Duration.seconds(86_400)
    /// How long the pictures of former runs stay, whose meetings are over unless another server goes on with them.
    static let formerLife = Duration.seconds(3600)

    let path: String
    /// The most bytes of all files together, each rounded up to whole blocks.
    let quota: Int
    /// The most bytes of one meeting, and of one address.
    let share: Int
    /// The pictures, the oldest first.
    private var files: [File] = []
    private(set) var bytes = 0
    private var ofMeeting: [PictureOwner.Meeting: Int] = [:]
    private var ofAddress: [IPAddress?: Int] = [:]
    private var isRead = false

    private struct File {
        var name: String
        var bytes: Int
        var owner: PictureOwner
        /// nil: with its meeting.
        var end: Instant?
    }

    init(path: String, quota: Int) {
        self.path = path
        self.quota = quota
        // One picture of the largest size always has room.
        share = max(quota / 10, min(quota, Self.cost(of: ChatPicture.maxBytes)))
    }

    /// The bytes of the quota that a picture of that size takes.
    static func cost(of bytes: Int) -> Int { (max(bytes, 1) + block - 1) / block * block }

    // MARK: - Reading

    /// Counts the pictures of former runs, and removes those that a crash left incomplete. The first call does; a
    /// missing folder holds none.
    mutating func readOnce(at now: Instant) {
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
            let cost = Self.cost(of: Int(status.st_size))
            let file = File(name: name, bytes: cost, owner: PictureOwner(), end: now + Self.formerLife)
            found.append((file, status.st_mtim))
        }
        found.sort { ($0.at.tv_sec, $0.at.tv_nsec) < ($1.at.tv_sec, $1.at.tv_nsec) }
        for (file, _) in found { append(file) }
    }

    private mutating func append(_ file: File) {
        files.append(file)
        count(file, file.bytes)
    }

    private mutating func count(_ file: File, _ change: Int) {
        bytes += change
        if let meeting = file.owner.meeting {
            let left = ofMeeting[meeting, default: 0] + change
            ofMeeting[meeting] = left > 0 ? left : nil
        }
        let left = ofAddress[file.owner.address, default: 0] + change
        ofAddress[file.owner.address] = left > 0 ? left : nil
    }

    /// The bytes of a picture; nil if there is no such picture (any more).
    func read(_ id: String) -> [UInt8]? {
        guard ChatPicture.Format(id: id) != nil else { return nil }
        return (try? Data(contentsOf: URL(fileURLWithPath: path + "/" + id))).map { Array($0) }
    }

    // MARK: - Writing

    private static let part = ".part"

    /// Writes a picture, after those were deleted for which the quota and the owner's shares have no room beside it.
    ///
    /// - Parameter end: when the picture is deleted; nil: with its meeting.
    /// - Returns: the number of deleted pictures.
    mutating func add(
        _ picture: [UInt8], as name: String, of owner: PictureOwner = PictureOwner(), until end: Instant? = nil,
        at now: Instant
    ) throws(Fault) -> Int {
        readOnce(at: now)
        try makeFolder()
        let cost = Self.cost(of: picture.count)
        let deleted = try makeRoom(for: cost, owner)
        try write(picture, name)
        append(File(name: name, bytes: cost, owner: owner, end: end))
        return deleted
    }

    /// Lets a picture stay until another time: a chat has sent it.
    mutating func keep(_ name: String, until end: Instant) {
        guard let place = files.firstIndex(where: { $0.name == name }), files[place].end != nil else { return }
        files[place].end = end
    }

    /// Deletes what has come to its end.
    ///
    /// - Parameter isOver: whether a meeting is over.
    /// - Returns: the number of deleted pictures.
    mutating func expire(at now: Instant, isOver: (PictureOwner.Meeting) -> Bool) -> Int {
        let over = Set(ofMeeting.keys.filter(isOver))
        var kept: [File] = []
        var gone = 0
        for var file in files {
            if file.end == nil, let meeting = file.owner.meeting, over.contains(meeting) {
                file.end = now + Self.pastMeetingLife
            }
            if let end = file.end, end <= now, unlink(path + "/" + file.name) == 0 || errno == ENOENT {
                count(file, -file.bytes)
                gone += 1
            } else {
                kept.append(file)
            }
        }
        files = kept
        return gone
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

    private mutating func makeRoom(for cost: Int, _ owner: PictureOwner) throws(Fault) -> Int {
        var gone = 0
        if let meeting = owner.meeting {
            while ofMeeting[meeting, default: 0] + cost > share {
                guard try deleteOldest({ $0.meeting == meeting }) else { break }
                gone += 1
            }
        }
        // Addresses that are not known have no share of their own.
        if let address = owner.address {
            while ofAddress[address, default: 0] + cost > share {
                guard try deleteOldest({ $0.address == address }) else { break }
                gone += 1
            }
        }
        while bytes + cost > quota, let largest = ofAddress.max(by: { $0.value < $1.value }) {
            guard try deleteOldest({ $0.address == largest.key }) else { break }
            gone += 1
        }
        return gone
    }

    private mutating func deleteOldest(_ isMeant: (PictureOwner) -> Bool) throws(Fault) -> Bool {
        guard let place = files.firstIndex(where: { isMeant($0.owner) }) else { return false }
        guard unlink(path + "/" + files[place].name) == 0 || errno == ENOENT else { throw Fault(errno) }
        let file = files.remove(at: place)
        count(file, -file.bytes)
        return true
    }

    /// Writes the file whole, so that nobody reads half a picture, but does not wait for the disk: the sender waits for
    /// this call, and a meeting ends with the machine's power.
    private func write(_ picture: [UInt8], _ name: String) throws(Fault) {
        do throws(WholeFile.Fault) {
            try WholeFile.replace(
                path + "/" + name, with: picture, mode: 0o600, unfinished: Self.part, isSynced: false)
        } catch {
            throw Fault(error.code)
        }
    }
}

extension PictureFolder.Fault {
    fileprivate init(_ code: Int32) { self.init(reason: String(cString: strerror(code))) }
}
