#include "zygote/profiles.hpp"

#include <sstream>

namespace cmcp::sandbox {
namespace {

constexpr const char* standard_library =
    "argparse array ast asyncio base64 bisect calendar cmath codecs collections collections.abc concurrent.futures "
    "concurrent.futures.process concurrent.futures.thread configparser contextlib contextvars copy csv ctypes "
    "dataclasses "
    "datetime decimal difflib enum fnmatch fractions functools getpass glob gzip hashlib heapq hmac html html.parser "
    "http.client importlib.util inspect io ipaddress itertools json keyword linecache locale logging lzma bz2 math "
    "multiprocessing multiprocessing.pool numbers operator os pathlib pickle platform pprint queue random re secrets "
    "select "
    "selectors shlex shutil signal socket sqlite3 ssl stat statistics string struct subprocess sys sysconfig tarfile "
    "tempfile "
    "textwrap threading time timeit tokenize traceback types typing unicodedata unittest urllib.parse urllib.request "
    "uuid "
    "warnings weakref xml.etree.ElementTree zipfile zlib zoneinfo";

// web_scrape reads pages with these modules, which take longer to load than most pages.
constexpr const char* page_readers = "bs4 lxml.etree soupsieve";

constexpr const char* data_libraries =
    "numpy numpy.random numpy.linalg numpy.fft pandas matplotlib matplotlib.pyplot matplotlib.backends.backend_agg";

std::vector<std::string> words(const std::string& text)
{
    std::istringstream in(text);
    std::vector<std::string> all;
    for (std::string word; in >> word;) all.push_back(word);
    return all;
}

}  // namespace

std::vector<std::string> modules_of(const std::string& profile)
{
    std::string text = std::string(standard_library) + " " + page_readers;
    if (profile == "data") text += std::string(" ") + data_libraries;
    return words(text);
}

}  // namespace cmcp::sandbox
