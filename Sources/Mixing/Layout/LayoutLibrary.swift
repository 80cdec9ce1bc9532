import Basics
import Glibc

/// The layouts that rooms can use: the built-in ones, those of a directory, which take precedence, and before both those
/// that the nodes of a cluster share.
///
/// The caller polls. A file that became invalid is reported, and its last valid state stays in use. Safe on any thread.
package final class LayoutLibrary: Sendable {
    /// The result of a poll.
    package struct Change: Sendable {
        /// The names of added, changed and removed layouts.
        package var changed: Set<String> = []
        /// The faults of invalid files, reported once per state of a file.
        package var faults: [LayoutFault] = []

        mutating func add(_ other: Change) {
            changed.formUnion(other.changed)
            faults += other.faults
        }
    }

    /// Why a layout could not be stored or removed.
    package enum StoreError: Error, Sendable, CustomStringConvertible {
        case faults(LayoutFaults)
        case unknown(String)
        case builtIn(String)
        case file(path: String, reason: String)

        package var description: String {
            switch self {
            case .faults(let faults): faults.description
            case .unknown(let name): "there is no layout \"\(name)\""
            case .builtIn(let name): "\"\(name)\" is built in: it can be replaced, not removed"
            case .file(let path, let reason): "\(path) cannot be written: \(reason)"
            }
        }
    }

    /// The directory of layout files; nil where there are only the built-in layouts and those that `put` added.
    package let directory: String?

    private struct InUse {
        /// What counts of `own` and `shared`.
        private(set) var byName: [String: Layout]
        private(set) var withPresentingRules: Set<String> = []
        /// The built-in ones, the files', and those that `put` added.
        private(set) var own: [String: Layout]
        private(set) var shared: [String: Layout] = [:]

        init(_ layouts: [String: Layout]) {
            (byName, own) = (layouts, layouts)
            withPresentingRules = Set(layouts.values.lazy.filter(\.hasPresentingRules).map(\.name))
        }

        /// Stores or removes a layout of this server. Returns whether another one is in use by that.
        mutating func use(_ layout: Layout?, as name: String) -> Bool {
            own[name] = layout
            return settle(name)
        }

        /// The same for one that the nodes share.
        mutating func share(_ layout: Layout?, as name: String) -> Bool {
            shared[name] = layout
            return settle(name)
        }

        private mutating func settle(_ name: String) -> Bool {
            let layout = shared[name] ?? own[name]
            defer { byName[name] = layout }
            if layout?.hasPresentingRules == true {
                withPresentingRules.insert(name)
            } else {
                withPresentingRules.remove(name)
            }
            return byName[name] != layout
        }
    }

    private struct Files {
        /// The last state of each file.
        var stamps: [String: FileStamp] = [:]
        /// The files with faults.
        var refused: Set<String> = []
        /// The shared layouts that use pictures of the directory, or have faults, as they came.
        var shared: [String: [UInt8]] = [:]
    }

    /// The last state of the files. Its lock is held while files are read: only `poll`, `put` and `delete` take it, and
    /// they may wait for a disk.
    private let files = Guarded(Files())
    /// Held by `put` and `delete`, around that of `files`: `put` waits until the disk has the file, and `poll`, whose
    /// thread has more to do, must not.
    private let writing = Guarded(())
    /// The layouts in use. Its lock is held for single accesses of the table only, so that a lookup never waits for a
    /// disk.
    private let layouts: Guarded<InUse>
    private let read: @Sendable (String) -> [UInt8]?
    private let images: LayoutImages

    /// Reads the directory. A missing directory counts as empty, so that a server without files works; the first
    /// `poll()` reports the faults of its files.
    package convenience init(directory: String?) { self.init(directory: directory, read: Self.read) }

    /// - Parameter read: returns the bytes of a file, or nil where it cannot be read.
    init(directory: String?, read: @escaping @Sendable (String) -> [UInt8]?) {
        self.directory = directory
        self.read = read
        images = LayoutImages(directory: directory)
        layouts = Guarded(InUse(Self.builtIn))
    }

    /// The shipped layouts, parsed once.
    package static let builtIn: [String: Layout] = {
        var layouts: [String: Layout] = [:]
        for file in BuiltInLayouts.files {
            // A test parses every built-in layout, so none is skipped here.
            if let layout = try? Layout.parse(json: file.json, file: "\(file.name).json") {
                layouts[file.name] = layout
            }
        }
        return layouts
    }()

    /// The names of the built-in layouts, the most common first.
    package static let builtInNames = BuiltInLayouts.files.map(\.name)

    /// Former shipped layouts that differed from another one by a side only, and the one that takes their place. Their
    /// names are valid and not listed.
    static let aliases = ["sidebar": "speaker", "filmstrip": "speaker"]

    /// The layout with this name.
    package subscript(name: String) -> Layout? {
        layouts.withLock { layouts in layouts.byName[name] ?? Self.aliases[name].flatMap { layouts.byName[$0] } }
    }

    /// These names and the aliases of layouts with these names.
    package static func withAliases(_ names: Set<String>) -> Set<String> {
        names.union(aliases.lazy.filter { names.contains($0.value) }.map(\.key))
    }

    /// The names of the layouts with `Layout.hasPresentingRules`.
    package var namesWithPresentingRules: Set<String> { layouts.withLock { $0.withPresentingRules } }

    /// All layouts: the built-in ones in their order, then the others by name.
    package var all: [Layout] {
        let layouts = layouts.withLock { $0.byName }
        let shipped = Self.builtInNames.compactMap { layouts[$0] }
        return shipped + layouts.values.filter { !Self.builtInNames.contains($0.name) }.sorted { $0.name < $1.name }
    }

    /// Looks for new, changed and removed files. To be called at least every 2 s, on a thread that may block on a disk.
    package func poll() -> Change {
        guard let directory else { return Change() }
        return files.withLock { state in
            var change = Change()
            let files = Self.list(directory)
            // A layout whose picture changed is another one; one that was refused may lack a picture that is there now.
            if images.forgetChanged() {
                for file in state.stamps.keys
                where state.refused.contains(file) || own(String(file.dropLast(5)))?.usesImages == true {
                    state.stamps[file] = nil
                }
                for (name, bytes) in state.shared.sorted(by: { $0.key < $1.key }) {
                    change.add(share(bytes, as: name, &state))
                }
            }
            for (file, stamp) in files.sorted(by: { $0.key < $1.key }) where state.stamps[file] != stamp {
                let name = String(file.dropLast(5))
                let path = "\(directory)/\(file)"
                state.stamps[file] = stamp
                state.refused.remove(file)
                guard let bytes = read(path) else {
                    change.faults.append(
                        LayoutFault(
                            file: path, line: 1, column: 1, what: "it cannot be read", mend: "check its permissions"))
                    continue
                }
                do throws(LayoutFaults) {
                    if use(try parse(bytes, name: name, file: path), as: name) { change.changed.insert(name) }
                    if isShared(name) { change.faults.append(Self.hidden(name, path)) }
                } catch {
                    change.faults += error.faults
                    state.refused.insert(file)
                }
            }
            for file in state.stamps.keys where files[file] == nil {
                state.stamps[file] = nil
                state.refused.remove(file)
                let name = String(file.dropLast(5))
                if use(Self.builtIn[name], as: name) { change.changed.insert(name) }
            }
            return change
        }
    }

    /// Stores or removes a layout. Returns whether it differs from the one before.
    @discardableResult
    private func use(_ layout: Layout?, as name: String) -> Bool {
        layouts.withLock { $0.use(layout, as: name) }
    }

    private func own(_ name: String) -> Layout? { layouts.withLock { $0.own[name] } }
    private func isShared(_ name: String) -> Bool { layouts.withLock { $0.shared[name] != nil } }

    private static func hidden(_ name: String, _ path: String) -> LayoutFault {
        LayoutFault(
            file: path, line: 1, column: 1, what: "the nodes of the cluster share a layout of this name, which is used",
            mend: "remove that one by DELETE /api/layouts/\(name), or this file")
    }

    // MARK: What the nodes of a cluster share

    /// Checks what would be a layout of this name.
    package func check(name: String, json bytes: [UInt8]) throws(StoreError) {
        do { _ = try parse(bytes, name: name, file: "\(name).json") } catch { throw .faults(error) }
    }

    /// Adds, replaces or (nil) removes a layout that the nodes of a cluster share. It takes precedence over a file of its
    /// name, and no file is written. Of one with faults the last valid state stays in use.
    package func share(name: String, json bytes: [UInt8]?) -> Change {
        files.withLock { state in share(bytes, as: name, &state) }
    }

    private func share(_ bytes: [UInt8]?, as name: String, _ state: inout Files) -> Change {
        var change = Change()
        state.shared[name] = nil
        var layout: Layout?
        if let bytes {
            do throws(LayoutFaults) {
                let parsed = try parse(bytes, name: name, file: "the cluster's \(name).json")
                if parsed.usesImages { state.shared[name] = bytes }
                layout = parsed
            } catch {
                state.shared[name] = bytes
                change.faults = error.faults
                return change
            }
        }
        if layouts.withLock({ $0.share(layout, as: name) }) { change.changed.insert(name) }
        return change
    }

    /// Adds or replaces a layout, after the same checks as for files, and writes it to the directory if there is one.
    package func put(name: String, json bytes: [UInt8]) throws(StoreError) -> Layout {
        let layout: Layout
        do {
            layout = try parse(bytes, name: name, file: "\(name).json")
        } catch {
            throw .faults(error)
        }
        let failure = writing.withLock { _ -> StoreError? in
            if let directory {
                let path = "\(directory)/\(name).json"
                // A server that was started without the directory creates it for the first layout.
                mkdir(directory, 0o755)
                do throws(WholeFile.Fault) {
                    try WholeFile.replace(path, with: bytes, mode: 0o666)
                } catch {
                    return .file(path: path, reason: "\(error)")
                }
            }
            files.withLock { state in
                if let directory { state.stamps["\(name).json"] = FileStamp("\(directory)/\(name).json") }
                use(layout, as: name)
            }
            return nil
        }
        if let failure { throw failure }
        return layout
    }

    /// Removes a layout; where it replaced a built-in one, that one applies again.
    package func delete(name: String) throws(StoreError) {
        let failure = writing.withLock { _ in
            files.withLock { state -> StoreError? in
                guard let layout = self[name] else { return .unknown(name) }
                let path = directory.map { "\($0)/\(name).json" }
                let isFile = path.map { FileStamp($0) != nil } ?? false
                if Self.builtIn[name] == layout, !isFile { return .builtIn(name) }
                if let path, isFile, unlink(path) != 0 {
                    return .file(path: path, reason: String(cString: strerror(errno)))
                }
                state.stamps["\(name).json"] = nil
                use(Self.builtIn[name], as: name)
                return nil
            }
        }
        if let failure { throw failure }
    }

    private func parse(_ bytes: [UInt8], name: String, file: String) throws(LayoutFaults) -> Layout {
        let layout = try Layout.parse(json: bytes, file: file, images: images)
        if layout.name == name { return layout }
        let place = (try? JSONParser.parse(bytes))?["name"]?.position ?? TextPosition()
        throw LayoutFaults([
            LayoutFault(
                file: file, line: place.line, column: place.column,
                what: "the name \"\(layout.name)\" is not that of the file",
                mend: "write \"\(name)\", or rename the file to \(layout.name).json")
        ])
    }

    // MARK: Files

    private static func list(_ directory: String) -> [String: FileStamp] {
        guard let handle = opendir(directory) else { return [:] }
        defer { closedir(handle) }
        var files: [String: FileStamp] = [:]
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasSuffix(".json"), name != "schema.json", !name.hasPrefix("."), files.count < 1000 else {
                continue
            }
            if let stamp = FileStamp("\(directory)/\(name)") { files[name] = stamp }
        }
        return files
    }

    /// Reads a file, at most one byte more than the parser accepts, so that the parser refuses a larger file.
    static func read(_ path: String) -> [UInt8]? { FileStamp.read(path, most: LayoutDocument.maxBytes + 1) }
}
